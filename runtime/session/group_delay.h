// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

#include "base/clock.h"

namespace casync::runtime {

/// Waits for a group that has not left in a step: the time of the first one, and of the last line of the log about it.
/// The caller's lock guards it.
class GroupDelay {
 public:
  /// Notes a wait in `step`. Returns the time of the first one in that step.
  Clock::time_point waited_since(std::uint32_t step, Clock::time_point now) {
    if (std::exchange(steps_, step + 1) != step + 1) since_ = said_ = now;
    return since_;
  }
  /// The time of the next line of the log, one in each `interval`.
  Clock::time_point said_next(Seconds interval) const {
    return said_ + std::chrono::duration_cast<Clock::duration>(interval);
  }
  /// Returns true, and counts the line as written, if one is due.
  bool is_to_be_said(Clock::time_point now, Seconds interval) {
    if (now < said_next(interval)) return false;
    said_ = now;
    return true;
  }
  /// Forgets all waits.
  void forget() { steps_ = 0; }

 private:
  std::uint32_t steps_ = 0;  ///< 1 + the step of the last wait; 0: there was none
  Clock::time_point since_, said_;
};

}  // namespace casync::runtime
