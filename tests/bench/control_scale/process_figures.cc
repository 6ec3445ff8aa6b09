// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/control_scale/process_figures.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

namespace casync::runtime::bench {

int open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<int>(std::distance(begin(all), end(all))) - 1;  // but for the one that lists them
}

double cpu_seconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

int DescriptorPeak::end() {
  ended_ = true;
  if (thread_.joinable()) thread_.join();
  return peak_;
}

void DescriptorPeak::watch() {
  while (!ended_) {
    peak_ = std::max(peak_, open_descriptors());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace casync::runtime::bench
