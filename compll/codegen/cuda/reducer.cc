// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/reducer.h"

#include "compll/codegen/cuda/expression.h"
#include "compll/codegen/text/operation_text.h"

namespace casync::compll {

bool is_ordered(const Graph& graph, const Value& reduction) {
  if (reduction.reducer == Reducer::kUser) return true;
  return reduction.reducer == Reducer::kSum && graph[reduction.arguments.front()].type.is_float();
}

std::optional<std::string> cuda_reducer(const Graph& graph, const Value& reduction) {
  const ScalarType type = graph[reduction.arguments.front()].type;
  const std::string of = "<" + type_text(type) + ">";
  const bool is_bool = type == kBoolType;
  if (reduction.over != Domain::kElement) return std::nullopt;
  switch (reduction.reducer) {
    case Reducer::kMagnitude: return "Magnitude";
    case Reducer::kCount: return "Count";
    case Reducer::kSum:
      if (type.is_float()) return "LaneSum";
      return is_bool ? std::optional<std::string>() : "IntegerSum" + of;
    case Reducer::kMin:
    case Reducer::kMax:
      if (is_bool || type == kDoubleType) return std::nullopt;
      return (reduction.reducer == Reducer::kMin ? "Minimum" : "Maximum") + of;
    case Reducer::kUser:
      if (is_bool) return std::nullopt;
      return "LaneFold<" + type_text(type) + ", Function" + std::to_string(reduction.function) + ">";
  }
  return std::nullopt;
}

}  // namespace casync::compll
