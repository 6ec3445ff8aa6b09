// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/units.h"

/// Pairs of ranks: a round-robin tournament, of which each exchange draws one round.
namespace casync::pairs {

/// The number of ranks that sit on the tournament's circle: all, or with an even number all but the last one.
constexpr int circle(int ranks) { return ranks % 2 == 0 ? ranks - 1 : ranks; }

/// The number of rounds in which every pair of ranks meets exactly once.
constexpr int rounds(int ranks) { return circle(ranks); }

/// The rank that `rank` meets in `round`; `rank` itself: it sits out. On the circle i meets j if i + j is `round`,
/// modulo the circle; the one that would meet itself meets the last rank of an even number.
constexpr Rank partner(Rank rank, int round, int ranks) {
  const int size = circle(ranks);
  if (rank == size) return round * ((size + 1) / 2) % size;  // the half of `round`, modulo an odd number
  const Rank other = (round - rank + size) % size;
  return other == rank && ranks % 2 == 0 ? size : other;
}

/// The round of step `step`: each is equally likely, and the same on all ranks. The mixing function is that of
/// SplitMix64 (Steele, Lea, Flood 2014).
constexpr int round_of(std::uint64_t seed, std::uint32_t step, int ranks) {
  std::uint64_t mixed = seed + (std::uint64_t{step} + 1) * 0x9e3779b97f4a7c15u;
  mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
  mixed ^= mixed >> 31;
  return static_cast<int>(mixed % static_cast<std::uint64_t>(rounds(ranks)));
}

}  // namespace casync::pairs
