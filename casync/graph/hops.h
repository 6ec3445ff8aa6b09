// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "casync/graph/task_graph.h"

namespace casync {

/// The position of each task on its partition's way, by task. An encode's payload is at 0, a received one behind the
/// hop that it came by, and a merge's where the farthest of its contributions is. A task is where the farthest payload
/// is that it reads or fills. The executor orders ready tasks by it, and so does the simulator.
std::vector<std::uint32_t> hops_of_tasks(const TaskGraph& graph);

}  // namespace casync
