// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "casync/model/plan.h"

namespace casync {

/// The version of plan files that this program reads and writes.
inline constexpr int kPlanVersion = 1;

/// Reads a plan in protobuf text format. `source` is the file's path: for messages, and its folder is where relative
/// paths of codec files begin.
/// PlanError: each mistake as "source:line:column: what was seen, what was expected", up to 20 of them, one a
/// line: syntax, unknown fields and versions, duplicate entries and parameters, numbers out of range. Codec
/// names are not known here; the session checks them.
Result<Plan> parse_plan(std::string_view text, std::string_view source);

/// The plan as text that parse_plan reads back to the same plan, from the folder where the program runs.
std::string plan_text(const Plan& plan);

}  // namespace casync
