// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "casync/graph/task_graph.h"
#include "casync/strategies/exchange.h"

namespace casync {

/// HiTopKComm (Shi et al. 2021, "Towards scalable distributed training of deep learning on public cloud clusters"): a
/// reduce-scatter inside each node, an all-gather of codes between nodes, an all-gather inside each node. On each node
/// a delegate adds the elements of its node's ranks as they are, encodes the sum and sends it to the delegates of all
/// other nodes; each of them merges the codes of all nodes in the same order and sends the result, in the gradient's
/// own type, to the ranks of its node. The ranks of a node take turns as delegates, so a rank's shard is the partitions
/// for which it is one. There is no owner and no second hop: the only error is that of one code for each node.
///
/// With coded terms each rank encodes its own elements, and all delegates merge the codes of all ranks in rank order;
/// votes travel inside a node as the code that they make.
TaskGraph hierarchical_all_gather_graph(const Exchange& exchange);

}  // namespace casync
