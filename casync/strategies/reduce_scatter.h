// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "casync/graph/task_graph.h"
#include "casync/model/plan.h"
#include "casync/strategies/exchange.h"
#include "casync/strategies/strategy.h"

namespace casync {

/// The elements that `rank` gets the result of: equal shards, in rank order. `elements` is a multiple of the ranks.
constexpr Slice shard_of(Elements elements, int ranks, Rank rank) {
  const Elements count = elements / static_cast<Elements>(ranks);
  return {count * static_cast<Elements>(rank), count};
}

/// InvalidArgument: so many elements are no equal shards.
Status check_shards(Elements elements, int ranks);

/// The number of partitions, of those that a plan chose: a multiple of the ranks, and at least one of each shard.
int shard_partitions(int partitions, int ranks);

/// Makes `decision` that of a scattered gradient: as many partitions as shard_partitions() says, each rank as the owner
/// of its shard, and no second hop. A plan's strategy, servers and second hop do not apply to it.
void scatter(int ranks, Decision& decision);

/// The traits of a codec in the graph of a scattered gradient. A codec that has a result makes it of what codes tell,
/// and no second hop tells the owner's own elements in them: each rank encodes its own.
CodecTraits scattered_traits(CodecTraits traits);

/// Partition `index` of that many: each shard is divided as partition_slice() divides a gradient.
Slice shard_partition(Elements elements, int ranks, std::size_t partitions, std::size_t index);

/// Reduce-scatter: every rank sends each shard, encoded, to the rank that owns it, and decodes its own shard's sum.
/// Its elements of other shards stay as they were. No strategy of a plan: ranks end with different elements. Owners
/// answer with a message of no elements, which says to each rank alike if their sums are finite. `partitions`: as
/// shard_partitions(). First owner and servers are not looked at.
TaskGraph reduce_scatter_graph(const Exchange& exchange);

}  // namespace casync
