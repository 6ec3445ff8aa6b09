// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "casync/graph/task_graph.h"
#include "casync/strategies/exchange.h"

namespace casync {

/// Tree: the ranks of a partition form a binomial tree with its owner as the root. Each merges what its children sent
/// to its own elements, encodes the sum again and sends it up; the owner's final code goes down the same tree
/// unchanged. No rank waits for more than about log2(ranks) messages. With coded terms each sends all codes that it has
/// up side by side, and the owner merges them in rank order.
TaskGraph tree_graph(const Exchange& exchange);

}  // namespace casync
