// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

#include "base/clock.h"

namespace casync::runtime {

/// Waits for a group that has not left in a step: since when there are any, and when that was last said. The caller's
/// lock guards it.
class GroupDelay {
 public:
  /// Somebody waits in `step` now. Returns when somebody first did.
  Clock::time_point waited_since(std::uint32_t step, Clock::time_point now) {
    if (std::exchange(steps_, step + 1) != step + 1) since_ = said_ = now;
    return since_;
  }
  /// The time at which that is to be said next, once in each `interval`.
  Clock::time_point said_next(Seconds interval) const {
    return said_ + std::chrono::duration_cast<Clock::duration>(interval);
  }
  /// Returns true if that is to be said now.
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
