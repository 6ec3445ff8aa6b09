// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/tiles/cuda/reductions.h"

#include "compll/ir/cuda_reducers.h"

namespace casync::compll {

bool is_ordered(const Graph& graph, const Value& reduction) {
  return is_ordered(reduction.reducer, graph[reduction.arguments.front()].type);
}

bool has_cuda_reducer(const Graph& graph, const Value& reduction) {
  return reduction.over == Domain::kElement &&
         has_cuda_reducer(reduction.reducer, graph[reduction.arguments.front()].type);
}

}  // namespace casync::compll
