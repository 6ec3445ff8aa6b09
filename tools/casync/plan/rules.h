// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "tools/casync/plan/inputs.h"
#include "tools/casync/plan/losses.h"

namespace casync::tools {

/// What each gradient has to stay within, and all codecs that any of them may have, go into the request.
///
/// With inputs.rules: what those say; what is odd about them goes into the remarks. Where they say nothing of a codec,
/// and without them, inputs.codecs or inputs.max_error hold. Errors as read_plan_file and make_codec; PlanError: a
/// codec that is fixed loses more than max_error, with file and gradient.
Status take_limits(const PlanInputs& inputs, Losses& losses, ReadInputs& read);

}  // namespace casync::tools
