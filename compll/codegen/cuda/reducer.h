// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/ir/tiles/graph.h"

namespace casync::compll {

/// The class of compll/ops/cuda/reducers.cuh that reduces so, for a reduction that has one.
std::string cuda_reducer(const Graph& graph, const Value& reduction);

}  // namespace casync::compll
