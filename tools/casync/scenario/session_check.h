// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "casync/model/plan.h"
#include "casync/simulator/simulate.h"

namespace casync::tools {

/// Refuses scenarios of a plan that no session takes: by the simulator's rules for its mode (decisions that the mode
/// cannot carry out, scattered gradients, and, with `ranks_are_known`, modes that do not fit its number of ranks), and
/// by those for each gradient that a session declares, but for codecs that are left to the planner. Nothing is
/// simulated, and the profile may be empty. PlanError, InvalidArgument: names the gradient, or the number of ranks.
Status check_session(const Plan& plan, const Scenario& scenario, bool ranks_are_known);

}  // namespace casync::tools
