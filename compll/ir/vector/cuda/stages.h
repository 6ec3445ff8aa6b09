// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll::cuda_vector {

/// Joins searches that do the same in one stage, so that its instructions exist once.
void join_searches(Routine& plan);

/// Divides the tasks by stages. If several works at a stage's beginning go through the tile, they do so piece by piece,
/// one piece after the other; a program that exchanges has too few elements for that.
void divide_stages(Routine& plan);

}  // namespace casync::compll::cuda_vector
