// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/reducer.h"

#include "compll/codegen/text/operation_text.h"

namespace casync::compll {

std::string cuda_reducer(Reducer reducer, ScalarType type, const std::string& function) {
  const std::string of = "<" + type_text(type) + ">";
  switch (reducer) {
    case Reducer::kMagnitude: return "Magnitude";
    case Reducer::kCount: return "Count";
    case Reducer::kSum: return type.is_float() ? "LaneSum" : "IntegerSum" + of;
    case Reducer::kMin: return "Minimum" + of;
    case Reducer::kMax: return "Maximum" + of;
    case Reducer::kUser: break;
  }
  return "LaneFold<" + type_text(type) + ", " + function + ">";
}

std::string cuda_reducer(const Graph& graph, const Value& reduction) {
  return cuda_reducer(reduction.reducer, graph[reduction.arguments.front()].type,
                      "Function" + std::to_string(reduction.function));
}

}  // namespace casync::compll
