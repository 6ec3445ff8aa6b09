// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace casync {

/// The codec tasks of a device that share one batch of kernels (runtime/executor/batch_lane.h): they run one after the
/// other without a pause, have one codec and verb, and were ready when the first of them began.
struct SharedKernels {
  static constexpr int kMost = 64;

  std::uint32_t codec = 0;
  std::uint8_t verb = 0;
  int tasks = 0;
  std::uint64_t before = 0;  ///< tasks with a smaller arrival were ready when the batch began
  double ended = -1;         ///< the end of the last task, in seconds of virtual time

  /// Returns true if a task joins the batch; otherwise the task begins a new one. `arrivals`: the number of tasks that
  /// have become ready by `now`.
  bool takes(std::uint32_t its_codec, std::uint8_t its_verb, std::uint64_t arrival, std::uint64_t arrivals,
             double now) {
    if (tasks < kMost && codec == its_codec && verb == its_verb && arrival < before && ended == now) {
      ++tasks;
      return true;
    }
    *this = {its_codec, its_verb, 1, arrivals, -1};
    return false;
  }
};

}  // namespace casync
