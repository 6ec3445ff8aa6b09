// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"
#include "casync/model/plan.h"
#include "casync/simulator/profile.h"
#include "casync/simulator/training.h"

namespace casync::tools {

// As read_profile_file, read_model_file and read_plan_file. A file of another kind gets one sentence that names its
// kind and the option for it, instead of a line for each unknown field. PlanError: a profile has costs of a codec that
// there is not, with the one that was probably meant.
Result<Profile> read_profile_input(const std::string& path);
Result<Training> read_model_input(const std::string& path);
Result<Plan> read_plan_input(const std::string& path);

}  // namespace casync::tools
