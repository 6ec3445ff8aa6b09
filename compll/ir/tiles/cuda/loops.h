// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/ir/tiles/cuda/plan.h"

namespace casync::compll {

/// Lays out the loops of all passes. A loop goes over four neighbours for each thread; where a reduction has an order,
/// a second one follows, over the 16 lanes of reductions. Throws CannotPlan.
void lay_out_loops(CudaEncoder& plan);

/// Finds the tensor's values that the passes and the end need ahead of their loops. Throws CannotPlan.
void plan_preambles(CudaEncoder& plan);

}  // namespace casync::compll
