// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/rank_steps.h"

#include <algorithm>
#include <utility>

namespace casync {

void LeastCount::grow(int from) {
  const auto at = static_cast<std::size_t>(from);
  if (counts_at_.size() <= at + 1) counts_at_.resize(at + 2);
  --counts_at_[at];
  ++counts_at_[at + 1];
  while (counts_at_[static_cast<std::size_t>(least_)] == 0) ++least_;
}

RankSteps::RankSteps(std::size_t ranks, int steps, bool until_slowest)
    : steps_(steps), until_slowest_(until_slowest), ranks_(ranks), contributed_(ranks), ended_(ranks) {}

void RankSteps::contributes_nothing(Rank rank) {
  if (!std::exchange(of(rank).contributes, false)) return;
  contributed_.drop();
}

void RankSteps::contribute(Rank rank) {
  OfRank& own = of(rank);
  if (own.contributes) contributed_.grow(own.contributed);
  ++own.contributed;
}

void RankSteps::end_step(Rank rank, double now) {
  OfRank& own = of(rank);
  ++all_ended_;
  if (over_ && !own.ends.empty()) return;
  ended_.grow(ended(rank));
  own.ends.push_back(now);
  const int ahead = std::max(0, ended(rank) - contributed_.get());
  own.most_ahead = std::max(own.most_ahead, ahead);
  own.sum_ahead += ahead;
}

bool RankSteps::goes_on(Rank rank) {
  if (!until_slowest_) return ended(rank) < steps_;
  const auto most = std::uint64_t{kMostOthers} * static_cast<std::uint64_t>(steps_) * ranks_.size();
  over_ = over_ || ended_.get() >= steps_ || all_ended_ >= most;
  return !over_;
}

std::vector<RankPace> RankSteps::paces() const {
  std::vector<RankPace> paces;
  for (const OfRank& one : ranks_) {
    const std::size_t all = one.ends.size(), half = all / 2;
    const double from = half > 0 ? one.ends[half - 1] : 0;
    paces.push_back({(one.ends.back() - from) / static_cast<double>(all - half), static_cast<std::int64_t>(all),
                     one.most_ahead, one.sum_ahead / static_cast<double>(all)});
  }
  return paces;
}

double mean_step_s(const std::vector<RankPace>& paces) {
  double in_a_second = 0;
  for (const RankPace& pace : paces) in_a_second += 1 / pace.step_s;
  return static_cast<double>(paces.size()) / in_a_second;
}

}  // namespace casync
