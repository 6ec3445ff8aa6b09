// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "casync/graph/task_graph.h"
#include "casync/strategies/exchange.h"

namespace casync {

/// The ranks next to `self` in a ring, ascending: two, of two ranks one, of one rank none.
std::vector<Rank> ring_neighbours(Rank self, int ranks);

/// Gossip: each rank sends its elements to its neighbours and ends with the sum of its own and theirs, in rank order,
/// scaled. Not a strategy of a plan: ranks end with different bytes. `neighbours`: ascending, without `exchange.self`,
/// and of each other on both sides. Coded terms and votes are not looked at.
TaskGraph gossip_graph(const Exchange& exchange, std::span<const Rank> neighbours);

/// Gossip of differences, over memory that has `exchange.elements` for each of this rank and its neighbours, in rank
/// order. Each rank encodes its own place once, sends the code to its neighbours, and decodes its own code and theirs,
/// each to the place of its rank: nothing is added up. `neighbours`: as above.
TaskGraph difference_gossip_graph(const Exchange& exchange, std::span<const Rank> neighbours);

/// The place of `self` among itself and its neighbours.
std::size_t place_among(Rank self, std::span<const Rank> neighbours);

}  // namespace casync
