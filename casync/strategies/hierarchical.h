// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "casync/graph/task_graph.h"
#include "casync/strategies/exchange.h"

namespace casync {

/// Two levels: on each node a delegate takes in the elements of its node's ranks as they are; the delegates send the
/// sum of their node, encoded, to the one that owns the partition, which merges the nodes in order and encodes once;
/// its code goes to the delegates and from them to their nodes, and all decode it. Only the code of a node's sum
/// travels between nodes, once per node and partition. With coded terms each rank encodes its own elements, delegates
/// send the codes of their node on side by side, and the owner merges all in rank order.
TaskGraph hierarchical_graph(const Exchange& exchange);

}  // namespace casync
