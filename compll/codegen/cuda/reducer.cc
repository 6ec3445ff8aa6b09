// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/reducer.h"

#include "compll/codegen/text/operation_text.h"

namespace casync::compll {

std::string cuda_reducer(const Graph& graph, const Value& reduction) {
  const ScalarType type = graph[reduction.arguments.front()].type;
  const std::string of = "<" + type_text(type) + ">";
  switch (reduction.reducer) {
    case Reducer::kMagnitude: return "Magnitude";
    case Reducer::kCount: return "Count";
    case Reducer::kSum: return type.is_float() ? "LaneSum" : "IntegerSum" + of;
    case Reducer::kMin: return "Minimum" + of;
    case Reducer::kMax: return "Maximum" + of;
    case Reducer::kUser: break;
  }
  return "LaneFold<" + type_text(type) + ", Function" + std::to_string(reduction.function) + ">";
}

}  // namespace casync::compll
