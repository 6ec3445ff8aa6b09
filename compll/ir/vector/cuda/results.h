// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll::cuda_vector {

/// Plans where the results of the steps go: sections, the residual, states, the decoded vector, an exchange. Throws
/// CannotPlan.
void plan_results(Routine& plan);

}  // namespace casync::compll::cuda_vector
