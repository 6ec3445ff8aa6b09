// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"

namespace casync {

/// The ranks that take part: 0 .. ranks - 1, and the node that each one runs on.
struct Topology {
  int ranks = 1;
  std::vector<int> node_of;  ///< one entry per rank, numbered from 0 in the order of first ranks; empty: all on one

  static Topology flat(int ranks) { return {ranks, {}}; }

  /// Builds the topology from the name of each rank's node.
  static Topology of(std::span<const std::string> nodes) {
    Topology topology{static_cast<int>(nodes.size()), {}};
    std::vector<std::string> known;
    for (const std::string& node : nodes) {
      const auto found = std::find(known.begin(), known.end(), node);
      topology.node_of.push_back(static_cast<int>(found - known.begin()));
      if (found == known.end()) known.push_back(node);
    }
    return topology;
  }

  int nodes() const { return node_of.empty() ? 1 : *std::max_element(node_of.begin(), node_of.end()) + 1; }

  bool operator==(const Topology&) const = default;
};

/// As "0 0 0 1 1 2" written shorter: "3 of node 0, 2 of node 1, 1 of node 2".
inline std::string text_of(const Topology& topology) {
  const auto ranks = static_cast<std::size_t>(topology.ranks);
  if (topology.node_of.empty()) return std::to_string(ranks) + " of node 0";
  std::string text;
  for (std::size_t first = 0, end = 0; first < ranks; first = end) {
    while (end < ranks && topology.node_of[end] == topology.node_of[first]) ++end;
    text +=
        (first == 0 ? "" : ", ") + std::to_string(end - first) + " of node " + std::to_string(topology.node_of[first]);
  }
  return text;
}

}  // namespace casync
