// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "compll/ir/tiles/graph.h"

namespace casync::compll {

/// Returns true if the order in which elements are taken can be seen in the result.
bool is_ordered(const Graph& graph, const Value& reduction);

/// The class of compll/ops/cuda/reducers.cuh that reduces so; empty if there is none.
std::optional<std::string> cuda_reducer(const Graph& graph, const Value& reduction);

}  // namespace casync::compll
