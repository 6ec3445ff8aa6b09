// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/tiles/cuda/reductions.h"

namespace casync::compll {

bool is_ordered(const Graph& graph, const Value& reduction) {
  if (reduction.reducer == Reducer::kUser) return true;
  return reduction.reducer == Reducer::kSum && graph[reduction.arguments.front()].type.is_float();
}

bool has_cuda_reducer(const Graph& graph, const Value& reduction) {
  const ScalarType type = graph[reduction.arguments.front()].type;
  if (reduction.over != Domain::kElement) return false;
  switch (reduction.reducer) {
    case Reducer::kMagnitude:
    case Reducer::kCount: return true;
    case Reducer::kSum:
    case Reducer::kUser: return type != kBoolType;
    case Reducer::kMin:
    case Reducer::kMax: return type != kBoolType && type != kDoubleType;
  }
  return false;
}

}  // namespace casync::compll
