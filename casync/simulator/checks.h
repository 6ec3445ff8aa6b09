// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "casync/simulator/simulate.h"

namespace casync {

/// What no simulation can begin with. InvalidArgument, naming the field: sizes that do not fit each other, numbers that
/// are negative or not finite, curves that fall.
Status check_scenario(const Scenario& scenario, const SimulationOptions& options);

}  // namespace casync
