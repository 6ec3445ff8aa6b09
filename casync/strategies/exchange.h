// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "casync/patterns/delegates.h"
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
  std::span<const int> node_of = {};   ///< as Topology's
  std::span<const Node> nodes = {};    ///< nodes_of() them, if the caller has that; else empty
  std::span<const Rank> servers = {};  ///< the ranks that own partitions, ascending; empty: all. `ps` only
  bool dedicated = false;              ///< the servers contribute nothing

  int owners() const { return servers.empty() ? ranks : static_cast<int>(servers.size()); }
  Rank owner(std::size_t partition) const {
    const Rank place = partition_owner(partition, first_owner, owners());
    return servers.empty() ? place : servers[static_cast<std::size_t>(place)];
  }
  bool contributes(Rank rank) const { return !dedicated || !std::binary_search(servers.begin(), servers.end(), rank); }
  /// The place of this rank among those that own partitions, or among the others.
  Rank place() const {
    const auto at = std::lower_bound(servers.begin(), servers.end(), self);
    const auto before = static_cast<Rank>(at - servers.begin());
    return at != servers.end() && *at == self ? before : self - before;
  }
};

/// The nodes of an exchange, which `own` holds if the exchange does not.
inline std::span<const Node> nodes_of(const Exchange& exchange, std::vector<Node>& own) {
  if (!exchange.nodes.empty()) return exchange.nodes;
  own = nodes_of(exchange.node_of, exchange.ranks);
  return own;
}

/// The elements of partition `index`; count 0 where there are more partitions than elements.
constexpr Slice partition_slice(Elements elements, std::size_t partitions, std::size_t index) {
  const Elements begin = partition_begin(elements, partitions, index);
  return {begin, partition_begin(elements, partitions, index + 1) - begin};
}

}  // namespace casync
