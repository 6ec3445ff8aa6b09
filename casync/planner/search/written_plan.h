// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "casync/model/plan.h"
#include "casync/planner/search/request.h"

namespace casync {

/// A planned step as a plan file has it: one entry for each gradient.
Plan written_plan(const PlanRequest& request, const PlannedStep& step, const std::string& profile_digest);

}  // namespace casync
