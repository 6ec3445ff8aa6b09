// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/units.h"
#include "runtime/control/group/last_words.h"
#include "runtime/control/group/leavers.h"
#include "runtime/control/group/messages.h"

namespace casync::runtime {

/// The goodbyes of all ranks, at rank 0: who has left, with which words, and who has not been told of it. Invariant: a
/// rank leaves once, and is announced once. All on the group's thread.
class Goodbyes {
 public:
  /// `announce` tells all other ranks.
  Goodbyes(int ranks, std::function<void(const Goodbye&)> announce)
      : announce_(std::move(announce)), left_(static_cast<std::size_t>(ranks), false), leavers_(ranks) {}

  bool has_left(Rank rank) const { return left_[static_cast<std::size_t>(rank)]; }
  /// The lowest rank that has left.
  std::optional<Rank> first_left() const;

  /// The words for rank 0 alone of a rank whose goodbye comes next.
  void keep_hub_words(Rank rank, std::string words) { hub_words_[rank] = std::move(words); }
  /// A rank's last words: those in its goodbye, with those that came ahead of it.
  LastWords words_of(Rank rank, std::string to_all);

  /// The rank has left. It is announced at once if its goodbye is due.
  void add(Rank rank, const LastWords& words, Clock::time_point now);
  /// Announces those that wait, if they are due; or all.
  void announce_due(Clock::time_point now) {
    if (now >= leavers_.due()) announce_all(now);
  }
  void announce_all(Clock::time_point now);
  /// When those that wait are to be announced; max: nobody waits.
  Clock::time_point due() const { return leavers_.due(); }
  bool all_announced() const { return leavers_.empty(); }

 private:
  std::function<void(const Goodbye&)> announce_;
  std::vector<bool> left_;                 // by rank
  std::map<Rank, std::string> hub_words_;  // of ranks whose goodbye comes next
  Leavers leavers_;
};

}  // namespace casync::runtime
