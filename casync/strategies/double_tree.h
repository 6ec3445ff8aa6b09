// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "casync/graph/task_graph.h"
#include "casync/strategies/exchange.h"

namespace casync {

/// Double binary tree: partitions with an even number go up and down one binary
/// tree of the ranks, the others another. A rank has children in one of the two
/// at most, so it sends and receives about as much as every other rank, also
/// with two partitions, and waits for two messages at most. Sums are encoded
/// again at each rank, as in a tree.
TaskGraph double_tree_graph(const Exchange& exchange);

}  // namespace casync
