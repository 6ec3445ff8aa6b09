// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "casync/graph/task_graph.h"
#include "casync/model/plan.h"
#include "casync/model/topology.h"
#include "runtime/session/declarations.h"

namespace casync::runtime {

/// Checks that this gradient can be reduced and scattered. InvalidArgument: its elements are no equal shards.
/// PlanError: the plan's mode or the codec exchanges more than each rank's own shard; dedicated servers.
Status check_scattered(const SyncMode& mode, const Declared& declared, const Topology& topology);

/// The graph of `self` for a decision that scatter() has made. Errors as make_graph.
Result<TaskGraph> make_scattered_graph(const Declared& declared, const Topology& topology, Rank self);

}  // namespace casync::runtime
