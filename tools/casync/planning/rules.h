// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "tools/casync/planning/inputs.h"
#include "tools/casync/planning/losses.h"

namespace casync::tools {

/// Adds to the request each gradient's limits, and all codecs that any gradient may have.
///
/// With inputs.rules: their limits; oddities of them go into the remarks. Where they say nothing of a codec, and
/// without rules, inputs.codecs or inputs.max_error hold. Errors as read_plan_file and make_codec; PlanError: a
/// codec that is fixed loses more than max_error, with file and gradient.
Status take_limits(const PlanInputs& inputs, Losses& losses, ReadInputs& read);

}  // namespace casync::tools
