// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "base/units.h"

namespace casync::runtime {

/// Says when a stall is to be reported: after each `stall` without a task or a byte, and from then on half as often.
/// One thread.
class StallWatch {
 public:
  explicit StallWatch(Seconds stall) : stall_(stall) {}

  void moved(Clock::time_point now) {
    moved_at_ = now;
    said_ = 0;
  }
  /// `moves`: a number that grows with each task and byte. `idle`: nothing is under way. Returns the length of the
  /// stall if it is to be reported.
  std::optional<Seconds> look(Clock::time_point now, std::uint64_t moves, bool idle) {
    if (moves != moves_ || idle) moved(now);
    moves_ = moves;
    const Seconds stalled = now - moved_at_;
    if (stalled < stall_ * (1 + 2 * said_)) return std::nullopt;
    ++said_;
    return stalled;
  }

 private:
  const Seconds stall_;
  std::uint64_t moves_ = 0;
  Clock::time_point moved_at_ = Clock::now();
  int said_ = 0;  ///< since then
};

}  // namespace casync::runtime
