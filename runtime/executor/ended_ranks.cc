// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/ended_ranks.h"

#include <algorithm>

namespace casync::runtime {

bool EndedRanks::end(Rank rank, std::uint32_t steps) {
  if (has_ended(rank)) return false;
  ended_at_[static_cast<std::size_t>(rank)] = std::min(steps, kNotEnded - 1);  // the word may say any number
  count_.fetch_add(1);
  return true;
}

std::optional<Rank> EndedRanks::first_without(std::uint32_t step) const {
  const auto found =
      std::find_if(ended_at_.begin(), ended_at_.end(), [&](std::uint32_t steps) { return steps <= step; });
  if (found == ended_at_.end()) return std::nullopt;
  return static_cast<Rank>(found - ended_at_.begin());
}

std::string EndedRanks::others() const {
  std::string names;
  int count = 0;
  for (std::size_t rank = 0; rank < ended_at_.size(); ++rank) {
    if (ended_at_[rank] == kNotEnded) names += (count++ == 0 ? "" : ", ") + std::to_string(rank);
  }
  return (count == 1 ? "rank " + names + " has" : "ranks " + names + " have");
}

}  // namespace casync::runtime
