// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "casync/simulator/training.h"

namespace casync::tools {

/// A sentence if a description says that ranks compute more or less than the others, and what that means for a plan;
/// else "".
std::string text_of_unequal(const Training& training);

}  // namespace casync::tools
