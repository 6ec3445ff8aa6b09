// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"

namespace casync::tools {

/// Reads a plan and says on stdout what is in it, with everything that is odd about it. With a model: what happens to
/// each gradient, and whether the strategies can carry the codecs. `ranks` 0: those the plan was made for, else 2.
/// PlanError: file, line and column of each mistake, or the gradient.
Status check_plan(const std::string& path, const std::string& model, int ranks, int nodes, bool json);

}  // namespace casync::tools
