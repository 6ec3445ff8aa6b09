// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "tools/casync/plan/inputs.h"

namespace casync::tools {

/// Reads inputs.rules: what each gradient has to stay within, and all codecs that any of them may have, go into the
/// request, what is odd about the rules into the remarks. Where the rules say nothing of a codec, inputs.codecs or
/// inputs.max_error hold. Errors as read_plan_file and make_codec; PlanError: a codec that is fixed loses more than
/// max_error, with file and gradient.
Status take_rules(const PlanInputs& inputs, ReadInputs& read);

}  // namespace casync::tools
