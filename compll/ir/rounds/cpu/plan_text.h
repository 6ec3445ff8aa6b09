// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/ir/rounds/cpu/plan.h"

namespace casync::compll::cpu_turns {

/// The turn as far as passes have made it, one line for each decision and item: for golden files and `--emit=ir`.
std::string text_of(const Turn& plan);
std::string text_of(const Plan& plan);

}  // namespace casync::compll::cpu_turns
