// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/ir/rounds/cpu/plan.h"

namespace casync::compll::cpu_turns {

/// Chooses for the array of each step if its elements are computed where they are used or in memory.
void choose_storage(Turn& plan);

}  // namespace casync::compll::cpu_turns
