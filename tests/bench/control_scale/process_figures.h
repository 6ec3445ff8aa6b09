// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <thread>

namespace casync::runtime::bench {

/// Counts the descriptors of this process.
int open_descriptors();

/// Processor time of all threads of this process so far.
double cpu_seconds();

/// Counts this process's descriptors on a thread of its own, again and again.
class DescriptorPeak {
 public:
  DescriptorPeak() : thread_([this] { watch(); }) {}
  ~DescriptorPeak() { end(); }
  /// Ends counting, and returns the most there were.
  int end();

 private:
  void watch();

  std::atomic<bool> ended_ = false;
  int peak_ = 0;
  std::thread thread_;  // last: it uses the others
};

}  // namespace casync::runtime::bench
