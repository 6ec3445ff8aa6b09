// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "casync/graph/task_graph.h"
#include "casync/strategies/exchange.h"

namespace casync {

/// The number of partitions for a gather of so many bytes: as many of each shard.
int gather_partitions(Bytes bytes, int ranks);
/// Gather: every rank sends its shard (strategies/reduce_scatter.h), as it is, to every other rank. Nothing is added.
/// Its payloads are of Hop::kSecond, so that those of an identity codec arrive where they belong. No strategy of a
/// plan: nothing is reduced. `partitions`: a multiple of the ranks. First owner and servers are not looked at.
TaskGraph gather_graph(const Exchange& exchange);

/// The number of partitions for a broadcast of so many bytes.
int broadcast_partitions(Bytes bytes, int ranks);
/// Broadcast: every rank gets the elements of rank `first_owner`, as they are. Of several partitions the root sends
/// each to one other rank, by turns, which sends it on to the rest: the root's link carries the elements once. One
/// partition goes from the root to each. Hops as in a gather.
TaskGraph broadcast_graph(const Exchange& exchange);

}  // namespace casync
