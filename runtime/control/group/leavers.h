// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/units.h"
#include "runtime/control/group/messages.h"

namespace casync::runtime {

/// Keeps the goodbyes that are not yet announced. The first goodbye of a while is announced at once; those that follow
/// it closely travel together, and ranks with the same last words share them: when N ranks leave, rank 0 says a few
/// frames to each child and not N. The last rank's goodbye waits for nobody. Plain data, kept by rank 0.
class Leavers {
 public:
  static constexpr std::chrono::milliseconds kPause{20};  ///< between announcements

  explicit Leavers(int ranks) : staying_(ranks) {}

  /// Once for each rank.
  void add(Rank rank, const std::string& last_words) {
    waiting_[last_words].push_back(rank);
    --staying_;
  }
  bool empty() const { return waiting_.empty(); }
  /// When those that wait are to be announced; max: nobody waits.
  Clock::time_point due() const {
    if (empty()) return Clock::time_point::max();
    return staying_ == 0 ? Clock::time_point::min() : next_;
  }
  /// Hands over those that wait. The next announcement is due a pause after `now`.
  std::vector<Goodbye> take(Clock::time_point now);

 private:
  std::map<std::string, std::vector<Rank>> waiting_;  // by last words
  int staying_;                                       // ranks that have not said goodbye
  Clock::time_point next_{};
};

}  // namespace casync::runtime
