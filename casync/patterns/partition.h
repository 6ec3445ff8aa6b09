// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "base/units.h"

namespace casync {

/// Partitions of at least kAlignedPartition elements begin at multiples of this, so that float32 starts on
/// cache lines and codecs' blocks are whole.
inline constexpr Elements kPartitionAlignment = 64;
/// In smaller partitions the rounding would make sizes noticeably unequal (by more than one part in 16).
inline constexpr Elements kAlignedPartition = 16 * kPartitionAlignment;

/// The unit of partition sizes: partitions begin at multiples of so many elements.
constexpr Elements partition_unit(Elements elements, std::size_t partitions) {
  return elements / partitions >= kAlignedPartition ? kPartitionAlignment : 1;
}

/// The first element of partition `index`; of index == partitions: `elements`. Partitions are in order, cover
/// all elements, and differ by at most one unit of alignment; with more partitions than elements some are empty.
constexpr Elements partition_begin(Elements elements, std::size_t partitions, std::size_t index) {
  const Elements unit = partition_unit(elements, partitions);
  const Elements units = ceil_div(elements, unit);
  // The first units % partitions partitions have one unit more.
  const Elements begin = units / partitions * index + std::min(index, units % partitions);
  return std::min(begin * unit, elements);
}

/// The rank that merges partition `index`. Owners take turns, from the gradient's own `first_owner` on, so that the
/// gradients of a model load all ranks alike.
constexpr Rank partition_owner(std::size_t index, std::size_t first_owner, int ranks) {
  return static_cast<Rank>((first_owner + index) % static_cast<std::size_t>(ranks));
}

}  // namespace casync
