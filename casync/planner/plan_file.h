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

/// The plan as text for the file `path`, through the same module; "": for a file in any folder. It reads back to the
/// same plan wherever the reader runs: codecs' files in the folder of `path`, or below it, are named as seen from
/// there, so that a folder moves as a whole, and all others from the root. Unavailable: the module is missing.
Result<std::string> text_of_plan(const Plan& plan, const std::string& path = "");

}  // namespace casync
