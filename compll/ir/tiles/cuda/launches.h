// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/ir/tiles/cuda/plan.h"

namespace casync::compll {

/// Schedules encode's loops. Each loop that uses a transform computes it again: a warp holds the block.
void schedule_loops(CudaEncoder& plan);

/// Finds the launches: the passes ahead of the last one, the workspace's words for their results, and the shape. Throws
/// CannotPlan.
void plan_launches(CudaEncoder& plan);

/// The shape with room for both.
cuda::Shape shape_of_both(const cuda::Shape& encode, const cuda::Shape& merge);

}  // namespace casync::compll
