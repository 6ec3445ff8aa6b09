// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/ir/tiles/cpu/plan.h"

namespace casync::compll {

/// Schedules encode's loops. A transform is computed once, after the loop that computes its operand.
void schedule_loops(CpuEncoder& plan);

/// Lays out the loops of all passes. Throws CannotPlan: a random number for each block.
void lay_out_loops(CpuEncoder& plan);

}  // namespace casync::compll
