// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"
#include "casync/model/plan.h"

namespace casync {

/// Reads a plan file through libcasync_planio, a module loaded when first needed and kept apart from the host
/// program: it holds Protocol Buffers, of which a framework's process may already have another version.
/// PlanError as parse_plan; InvalidArgument: no such file, or over 16 MiB; Unavailable: the module is missing.
Result<Plan> read_plan_file(const std::string& path);

/// The plan as text that reads back to the same plan, through the same module. Unavailable: it is missing.
Result<std::string> text_of_plan(const Plan& plan);

}  // namespace casync
