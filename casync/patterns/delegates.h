// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <vector>

#include "base/units.h"

namespace casync {

/// The ranks of a node, ascending.
using Node = std::vector<Rank>;

/// The nodes, in the order of their first ranks. `node_of` has an entry per rank, or none: all are on one node then.
inline std::vector<Node> nodes_of(std::span<const int> node_of, int ranks) {
  std::vector<Node> nodes;
  std::map<int, std::size_t> places;  // by name
  for (Rank rank = 0; rank < ranks; ++rank) {
    const int name = node_of.empty() ? 0 : node_of[static_cast<std::size_t>(rank)];
    const auto [place, fresh] = places.emplace(name, nodes.size());
    if (fresh) nodes.emplace_back();
    nodes[place->second].push_back(rank);
  }
  return nodes;
}

/// The node of a rank, which is in one of them.
inline const Node& node_with(std::span<const Node> nodes, Rank rank) {
  return *std::find_if(nodes.begin(), nodes.end(),
                       [&](const Node& node) { return std::binary_search(node.begin(), node.end(), rank); });
}

/// The number of ranks of the largest node; at least 1.
inline std::size_t most_ranks(std::span<const Node> nodes) {
  std::size_t most = 1;
  for (const Node& node : nodes) most = std::max(most, node.size());
  return most;
}

/// The rank that merges its node's contributions to the partition with this place among all partitions: one rank of the
/// node after the other.
inline Rank delegate(const Node& node, std::size_t place) { return node[place % node.size()]; }

/// The node whose delegate owns the partition. A round of as many places as the largest node has ranks begins one node
/// later each time, and each place goes to the next node: so with nodes of one size every rank owns one partition of
/// as many as there are ranks, and few partitions are spread over the nodes and over the ranks of each.
inline std::size_t owner_node(std::span<const Node> nodes, std::size_t place) {
  const std::size_t largest = most_ranks(nodes);
  return (place % largest + place / largest) % nodes.size();
}

}  // namespace casync
