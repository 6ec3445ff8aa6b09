// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "casync/simulator/flat_tasks.h"
#include "casync/simulator/simulate.h"

namespace casync {

/// Adds the tasks of a scenario with gossip: gradient g as gradient g + p times the number of gradients, for each
/// pairing p (patterns/pairs.h); a ring has one. With a codec that loses, codes of differences go to the neighbours'
/// copies, between two turns at the memory's speed. PlanError, naming the gradient: a decision that a session refuses
/// with gossip. InvalidArgument: more ranks in pairs than a session takes; too many tasks.
Status add_gossip_tasks(const Scenario& scenario, FlatTasks& flat);

/// The pairings of the first `exchanges` from step mode.from_step on; empty for a ring.
std::vector<std::uint32_t> gossip_pairings(const Scenario& scenario, int exchanges);

}  // namespace casync
