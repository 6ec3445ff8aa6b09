// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "casync/simulator/simulate.h"

namespace casync::tools {

/// Refuses what no session takes in the scenario's mode, by the rules that the simulator has: decisions that the mode
/// cannot carry out, scattered gradients, and, with `ranks_are_known`, what its number of ranks rules out. Nothing is
/// simulated, and the profile may be empty. PlanError, InvalidArgument: names the gradient, or the number of ranks.
Status check_mode(Scenario scenario, bool ranks_are_known);

}  // namespace casync::tools
