// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include "base/clock.h"
#include "base/units.h"

namespace casync::runtime {

/// The times at which messages to failed peers are abandoned, where UCX does not end them. UCX 1.22 never ends some
/// that it has announced over shared memory and tcp to a process that is killed, and nothing wakes a sleeper for them.
class AbandonTimes {
 public:
  /// From the end of a broken endpoint to that of its messages.
  static constexpr std::chrono::seconds kOutlive{1};

  explicit AbandonTimes(int ranks) : ended_(static_cast<std::size_t>(ranks), Clock::time_point::max()) {}

  /// Begins a look at the failed peers: forgets the last one's next_look().
  void begin_look() { next_look_ = Clock::time_point::max(); }
  /// A failed peer has messages that have not ended. Returns true if they are to be abandoned now: its endpoint was
  /// first found ended a while ago.
  bool is_over(Rank peer, bool endpoint_has_ended, Clock::time_point now) {
    Clock::time_point& ended = ended_[static_cast<std::size_t>(peer)];
    if (endpoint_has_ended) ended = std::min(ended, now);
    const Clock::time_point due = std::min(ended, now) + kOutlive;
    if (due <= now) return true;
    next_look_ = std::min(next_look_, due);
    return false;
  }
  /// The time of the next look at the latest, whatever happens meanwhile; max(): no message waits for one.
  Clock::time_point next_look() const { return next_look_; }

 private:
  std::vector<Clock::time_point> ended_;  // endpoints, by peer; max(): not found ended
  Clock::time_point next_look_ = Clock::time_point::max();
};

}  // namespace casync::runtime
