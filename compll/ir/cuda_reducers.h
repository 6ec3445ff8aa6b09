// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/lang/program.h"

namespace casync::compll {

/// Returns true if the order in which elements of this type are taken can be seen in the result.
bool is_ordered(Reducer reducer, ScalarType type);

/// Returns true if compll/ops/cuda/reducers.cuh has a class that reduces elements of this type so.
bool has_cuda_reducer(Reducer reducer, ScalarType type);

}  // namespace casync::compll
