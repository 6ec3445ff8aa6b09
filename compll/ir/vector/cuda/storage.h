// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll::cuda_vector {

/// Chooses for each map with a variable if its elements are computed where they are used, once into memory, or by the
/// product that reads them first.
void choose_storage(Routine& plan);

}  // namespace casync::compll::cuda_vector
