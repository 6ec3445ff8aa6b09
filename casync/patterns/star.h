// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.h"

namespace casync::star {

/// Every rank but the hub sends to it, then it sends to every other rank: two hops.
inline constexpr std::uint32_t kToHub = 0;
inline constexpr std::uint32_t kFromHub = 1;

constexpr int spokes(int ranks) { return ranks - 1; }

/// The rank at the end of spoke k = 0 .. ranks - 2, counted from the hub on: hubs that start at the same time
/// do not all begin with rank 0.
constexpr Rank spoke(Rank hub, int k, int ranks) { return (hub + 1 + k) % ranks; }

/// The order in which `self` serves partitions: the k-th of `partitions` whose `ranks` hubs take turns from
/// `first_owner` on. It begins with the partition of the next rank, so that at any time the ranks feed
/// different hubs instead of all the first, and serves each hub once ahead of any second time: a hub has
/// all of its first partition, then of its second.
constexpr std::size_t kth_partition(std::size_t k, std::size_t partitions, Rank self, std::size_t first_owner,
                                    int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  const std::size_t begin = (static_cast<std::size_t>(self) + 1 + n - first_owner % n) % n;
  const std::size_t round = k - k % n;
  return round + (begin + k - round) % std::min(n, partitions - round);
}

}  // namespace casync::star
