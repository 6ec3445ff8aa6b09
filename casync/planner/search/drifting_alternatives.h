// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "casync/planner/search/alternatives.h"

namespace casync {

/// alternatives() where ranks do not step together, with gossip or asynchronous ranks: no rank stands for all then, so
/// every way is simulated with all ranks, alone and in the step. The strategy and the servers are the plan's, and ways
/// that the mode has not are left out. `at`: the gradient's position.
Result<std::vector<Alternative>> drifting_alternatives(const PlanRequest& request, const PlannedStep& step,
                                                       std::size_t at);

/// The shortest step first; of equal ones the soonest over alone.
void sort_by_step(std::vector<Alternative>& all);

}  // namespace casync
