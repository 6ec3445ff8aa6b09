// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/ir/tiles/graph.h"

namespace casync::compll {

/// Returns true if the order in which elements are taken can be seen in the result.
bool is_ordered(const Graph& graph, const Value& reduction);

/// Returns true if compll/ops/cuda/reducers.cuh has a class that reduces so.
bool has_cuda_reducer(const Graph& graph, const Value& reduction);

}  // namespace casync::compll
