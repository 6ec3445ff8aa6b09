// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "base/units.h"

namespace casync {

/// The `count` ranks (1 to `ranks`) that serve all, ascending. Nodes give one rank each, again and again, the last node
/// first, and of each node its last rank that does not serve yet: servers share no link while there are enough nodes,
/// ranks that were added for serving come ahead of those that train, and rank 0, which leads the control plane, comes
/// last of its node. `node_of` has an entry per rank, or none: all are on one node then, and the last ranks serve.
inline std::vector<Rank> server_ranks(std::span<const int> node_of, int ranks, int count) {
  struct Candidate {
    int given = 0, node = 0;  ///< ranks that the node gives ahead of this one
    Rank rank = 0;
  };
  std::vector<Candidate> order;
  std::map<int, int> given;
  for (Rank rank = ranks - 1; rank >= 0; --rank) {
    const int node = node_of.empty() ? 0 : node_of[static_cast<std::size_t>(rank)];
    order.push_back({given[node]++, node, rank});
  }
  std::sort(order.begin(), order.end(), [](const Candidate& a, const Candidate& b) {
    return std::tuple(a.given, -a.node, -a.rank) < std::tuple(b.given, -b.node, -b.rank);
  });
  order.resize(static_cast<std::size_t>(std::clamp(count, 1, ranks)));
  std::vector<Rank> servers;
  for (const Candidate& candidate : order) servers.push_back(candidate.rank);
  std::sort(servers.begin(), servers.end());
  return servers;
}

}  // namespace casync
