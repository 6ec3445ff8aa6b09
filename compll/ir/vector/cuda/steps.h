// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll::cuda_vector {

/// Binds the inputs to their memory and plans the steps, in the order of the program. Throws CannotPlan.
void plan_steps(Routine& plan);

}  // namespace casync::compll::cuda_vector
