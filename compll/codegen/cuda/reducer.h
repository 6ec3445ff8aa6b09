// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/ir/tiles/graph.h"

namespace casync::compll {

/// The class of compll/ops/cuda/reducers.cuh that reduces elements of this type so, where there is one. `function`: the
/// class of the user's function.
std::string cuda_reducer(Reducer reducer, ScalarType type, const std::string& function);
/// The same for a reduction of a graph.
std::string cuda_reducer(const Graph& graph, const Value& reduction);

}  // namespace casync::compll
