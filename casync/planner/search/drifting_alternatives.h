// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "casync/planner/search/alternatives.h"

namespace casync {

/// Tasks of a step, over all that are simulated for one gradient: each is simulated for 64 steps and more, which takes
/// some twenty seconds.
inline constexpr std::uint64_t kMostDriftingTasks = 500'000;

/// alternatives() where ranks do not step together, with gossip or asynchronous ranks: no rank stands for all then, so
/// every way is simulated with all ranks in the step, and the shortest of each pair of codecs alone. The strategy and
/// the servers are the plan's, and ways that the mode has not are left out. With more than `most_tasks` each pair of
/// codecs is simulated with the one number of partitions that is nearest to the plan's. `at`: the gradient's position.
Result<std::vector<Alternative>> drifting_alternatives(const PlanRequest& request, const PlannedStep& step,
                                                       std::size_t at, std::uint64_t most_tasks = kMostDriftingTasks);

/// The shortest step first; of equal ones the soonest over alone.
void sort_by_step(std::vector<Alternative>& all);

}  // namespace casync
