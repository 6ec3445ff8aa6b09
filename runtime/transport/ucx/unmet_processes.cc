// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/unmet_processes.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace casync::runtime {

bool has_ended(int pid) {
  char first = 0;
  const auto name_of = [&](const std::string& process) {
    return readlink(fmt::format("/proc/{}/exe", process).c_str(), &first, 1);
  };
  if (name_of(std::to_string(pid)) >= 0 || (errno != ENOENT && errno != ESRCH)) return false;
  return name_of("self") >= 0;  // else nothing is known of any
}

void UnmetProcesses::meet(Rank peer) {
  std::erase_if(processes_, [&](const Process& process) { return process.peer == peer; });
}

void UnmetProcesses::forget_all() {
  processes_.clear();
  rest_until_ = {};
}

void UnmetProcesses::begin_last_rest(Clock::time_point now) {
  closing_ = true;
  if (resting()) rest_until_ = now + std::chrono::duration_cast<Clock::duration>(kLastRest);
}

bool UnmetProcesses::must_rest(Clock::time_point now) {
  if (now < rest_until_) return true;
  const auto ended = [](const Process& process) { return has_ended(process.pid); };
  if (resting()) {
    rest_until_ = {};
    std::erase_if(processes_, ended);
  } else if (now - last_turn_ > kPause && std::any_of(processes_.begin(), processes_.end(), ended)) {
    rest_until_ = now + std::chrono::duration_cast<Clock::duration>(closing_ ? kLastRest : kRest);
  }
  last_turn_ = now;
  return resting();
}

}  // namespace casync::runtime
