// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "casync/simulator/simulate.h"

namespace casync {

/// Returns InvalidArgument, naming the field, if the simulation cannot begin: sizes that do not fit each other, numbers
/// that are negative or not finite, curves that fall. PlanError, naming the gradient: as check_servers.
Status check_scenario(const Scenario& scenario, const SimulationOptions& options);

}  // namespace casync
