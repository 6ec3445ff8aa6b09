// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/units.h"

namespace casync {

/// The pace of one rank among ranks that do not step together.
struct RankPace {
  double step_s = 0;  ///< of one of its steps, mean over the later half of them
  // Counts of steps: a plan may exchange once in 10^9 of them.
  std::int64_t steps = 0;  ///< that it has ended
  // Steps to which it has contributed at the end of a step, less those of the slowest rank that contributes.
  std::int64_t most_ahead = 0;
  double mean_ahead = 0;
};

/// The least of counts that begin at 0 and grow by one at a time. It looks at no count but the one that grows.
class LeastCount {
 public:
  explicit LeastCount(std::size_t counts) : counts_at_{counts} {}

  /// A count of `from` grows.
  void grow(int from);
  /// A count that is 0 counts no more; not the last one.
  void drop() { --counts_at_[0]; }
  int get() const { return least_; }

 private:
  std::vector<std::size_t> counts_at_;  ///< the number of counts, by value
  int least_ = 0;
};

/// The steps of all ranks: when each ended, and how far ranks are apart.
class RankSteps {
 public:
  /// `steps` of each rank. With `until_slowest` a rank goes on until the slowest one has ended so many, but all
  /// together end no more than kMostOthers times as many each.
  RankSteps(std::size_t ranks, int steps, bool until_slowest);

  static constexpr int kMostOthers = 16;

  /// The rank contributes nothing, as others do: they are never counted as ahead of it. Ahead of its first step.
  void contributes_nothing(Rank rank);
  /// All that `rank` contributes to a step is there.
  void contribute(Rank rank);
  void end_step(Rank rank, double now);
  /// Returns true if `rank`, which has ended a step, begins another one. With `until_slowest`, no rank does after the
  /// first one that has not, and steps that end later are not counted: no rank waits for that one any more.
  bool goes_on(Rank rank);

  int ended(Rank rank) const { return static_cast<int>(of(rank).ends.size()); }
  std::uint64_t all_ended() const { return all_ended_; }
  /// By rank.
  std::vector<RankPace> paces() const;

 private:
  struct OfRank {
    std::vector<double> ends;
    int contributed = 0;
    bool contributes = true;
    int most_ahead = 0;
    double sum_ahead = 0;
  };
  OfRank& of(Rank rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  const OfRank& of(Rank rank) const { return ranks_[static_cast<std::size_t>(rank)]; }

  const int steps_;
  const bool until_slowest_;
  bool over_ = false;
  std::vector<OfRank> ranks_;
  LeastCount contributed_, ended_;  ///< of ranks that contribute, and of all
  std::uint64_t all_ended_ = 0;
};

/// Seconds in which ranks of these paces end one step each, in the mean: their number, over the steps that they end
/// together in a second.
double mean_step_s(const std::vector<RankPace>& paces);

}  // namespace casync
