// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "casync/graph/task_graph.h"
#include "casync/strategies/exchange.h"

namespace casync {

/// A rank's own step where ranks do not step together: it sends each partition, encoded, to its owner as in ps_graph(),
/// and decodes the owner's answer. Of a partition that it owns there is the answer alone, received from itself: the
/// owner takes its own elements as they are. A dedicated server has answers alone.
TaskGraph asynchronous_graph(const Exchange& exchange);

/// The messages of an owner: a Recv of the contribution of each other rank that has one to each partition that `self`
/// owns, and a Send of the answer to each other rank. They happen in any order and any number of times, so that there
/// are no other tasks, and the graph is no rank's step. It has no tasks if `self` owns nothing, or is alone.
TaskGraph owner_graph(const Exchange& exchange);

}  // namespace casync
