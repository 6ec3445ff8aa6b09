// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "casync/simulator/simulate.h"

namespace casync::tools {

/// The simulation as text for people, and as the object that --json prints.
std::string prediction_text(const Scenario& scenario, const Simulation& simulation);
nlohmann::ordered_json prediction_json(const Scenario& scenario, const Simulation& simulation);

/// Writes the simulation's spans as one Chrome trace, as `casync report --trace` does with measured ones.
/// Unavailable: the file cannot be written.
Status write_prediction_trace(const Scenario& scenario, const Simulation& simulation, const std::string& path);

}  // namespace casync::tools
