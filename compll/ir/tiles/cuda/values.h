// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/ir/tiles/cuda/plan.h"

namespace casync::compll {

/// The values of a graph. The bits of `shown` leave the kernel, if they are floats. `kept` have lines.
CudaTileValues cuda_values(const Graph& graph, const std::vector<ValueId>& shown, const std::vector<ValueId>& kept);

/// The functions that a graph reduces by.
std::vector<CudaFunction> cuda_functions(const Graph& graph);

/// Chooses the values of encode that have lines, and finds the floats whose NaN's bits can be seen.
void name_values(CudaEncoder& plan);

}  // namespace casync::compll
