// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "casync/patterns/partition.h"
#include "casync/primitives/primitive.h"

namespace casync {

/// The numbers every strategy works from: one gradient, seen from one rank.
struct Exchange {
  Elements elements = 0;
  std::size_t partitions = 1;
  int ranks = 1;
  Rank self = 0;
  std::size_t first_owner = 0;
  bool coded_terms = false;  ///< only a code says what a rank contributes: the owner encodes its own elements, too, and
                             ///< codes reach it as they are, not merged on their way
  bool votes = false;        ///< coded_terms, and the codes of all ranks make a code and not a sum
  std::span<const int> node_of = {};  ///< as Topology's

  Rank owner(std::size_t partition) const { return partition_owner(partition, first_owner, ranks); }
};

/// The elements of partition `index`; count 0 where there are more partitions than elements.
constexpr Slice partition_slice(Elements elements, std::size_t partitions, std::size_t index) {
  const Elements begin = partition_begin(elements, partitions, index);
  return {begin, partition_begin(elements, partitions, index + 1) - begin};
}

}  // namespace casync
