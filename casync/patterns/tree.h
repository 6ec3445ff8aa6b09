// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/units.h"

/// A binomial tree over any number of ranks. Places are counted from the root, which has place 0; the parent of a
/// place is the place without its lowest 1 bit.
namespace casync::tree {

constexpr int place(Rank rank, Rank root, int ranks) { return (rank - root + ranks) % ranks; }
/// The rank at a place; the inverse of place().
constexpr Rank at(int place, Rank root, int ranks) { return (root + place) % ranks; }

/// The parent of a place. Defined for every place but the root.
constexpr int parent(int place) { return place & (place - 1); }

/// Number of places in this one's subtree, itself included: they follow it without a gap.
constexpr int size(int place, int ranks) { return place == 0 ? ranks : std::min(place & -place, ranks - place); }

/// Mean size of the subtrees of all places but the root.
constexpr double mean_size(int ranks) {
  int sum = 0;
  for (int place = 1; place < ranks; ++place) sum += size(place, ranks);
  return ranks > 1 ? static_cast<double>(sum) / (ranks - 1) : 1;
}

/// Number of bits of a non-negative number; 0 takes none.
constexpr int bits(int number) { return static_cast<int>(std::bit_width(static_cast<unsigned>(number))); }

/// A place has as many children as its size has powers of two below it: the k-th is place + 2^k.
constexpr int children(int place, int ranks) { return bits(size(place, ranks) - 1); }
constexpr int child(int place, int k) { return place + (1 << k); }

/// Number of merges, one after the other, that lead up to a place, its own included; 0: it is a leaf.
constexpr int height(int place, int ranks) { return bits(size(place, ranks)) - 1; }
/// Number of messages, one after the other, from the root down to a place.
constexpr int depth(int place) { return std::popcount(static_cast<unsigned>(place)); }

/// The hop of the message that a place sends to its parent.
constexpr std::uint32_t up_hop(int place, int ranks) { return static_cast<std::uint32_t>(height(place, ranks)); }

}  // namespace casync::tree
