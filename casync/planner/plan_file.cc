// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/plan_file.h"

#include "casync/planner/plan_library.h"
#include "casync/planner/plan_module.h"

namespace casync {

Result<Plan> read_plan_file(const std::string& path) {
  return read_through_library<Plan>(kPlanReader, "plan file", path);
}

Result<std::string> text_of_plan(const Plan& plan) { return write_through_library(kPlanWriter, "plan file", plan); }

}  // namespace casync
