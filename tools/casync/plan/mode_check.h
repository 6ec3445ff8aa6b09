// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "casync/simulator/simulate.h"

namespace casync::tools {

/// Refuses scenarios that no session takes in their mode, by the simulator's rules: decisions that the mode cannot
/// carry out, scattered gradients, and, with `ranks_are_known`, modes that do not fit its number of ranks. Nothing is
/// simulated, and the profile may be empty. PlanError, InvalidArgument: names the gradient, or the number of ranks.
Status check_mode(Scenario scenario, bool ranks_are_known);

}  // namespace casync::tools
