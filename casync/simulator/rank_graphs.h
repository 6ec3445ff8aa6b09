// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "casync/graph/task_graph.h"
#include "casync/simulator/simulate.h"
#include "casync/strategies/strategy.h"

namespace casync {

/// InvalidArgument: there are `how_many` tasks in a step, more than kMostSimulatedTasks.
Status too_many_tasks(const std::string& how_many);

/// The graphs of ranks 0, 1, ... up to `ranks` for one exchange; `graph`: of another exchange than the strategy's. Adds
/// the number of their tasks to `tasks`. Errors as make_graph; InvalidArgument: too many tasks.
Result<std::vector<TaskGraph>> rank_graphs(const Scenario& scenario, int ranks, const Decision& decision,
                                           Elements elements, std::size_t first_owner, std::uint64_t& tasks,
                                           MakesGraph graph = nullptr);

}  // namespace casync
