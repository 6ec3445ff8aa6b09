// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "casync/planner/search/whole_step.h"

namespace casync::tools {

/// One screen: a table of terms, without compression and with `codecs` ("best plan", "int8"), by the closed form and
/// as simulated; below it from which bandwidth down compression pays, and which ratio is enough.
std::string whole_step_text(const PlanRequest& request, const WholeStep& whole, const std::string& codecs);
nlohmann::ordered_json whole_step_json(const WholeStep& whole, const std::string& codecs);

}  // namespace casync::tools
