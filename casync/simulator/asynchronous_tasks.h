// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "base/status.h"
#include "casync/simulator/answering_owners.h"
#include "casync/simulator/flat_tasks.h"
#include "casync/simulator/simulate.h"

namespace casync {

/// Adds the tasks of a scenario with asynchronous ranks: those of gradient g's own steps as gradient g, and those of
/// its owners, which are never over, as gradient g + the number of gradients; and its partitions to `owners`.
/// `first_owners`, by gradient: as in a session. PlanError, naming the gradient: a decision that a session refuses with
/// `asynchronous`; as make_graph. InvalidArgument: too many tasks.
Status add_asynchronous_tasks(const Scenario& scenario, const std::vector<std::size_t>& first_owners, FlatTasks& flat,
                              AnsweringOwners& owners);

/// By rank: true if it contributes to some gradient.
std::vector<bool> contributing_ranks(const Scenario& scenario);

}  // namespace casync
