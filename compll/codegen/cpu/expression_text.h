// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/ir/tiles/routine_values.h"

namespace casync::compll {

/// Writes values: names, literals, operations. The same text serves one element and sixteen; only the names of types
/// differ.
class ExpressionText {
 public:
  explicit ExpressionText(const RoutineValues& values) : values_(values), graph_(*values.graph) {}

  /// The type's name: of one element (`float`), or of sixteen (`Float`).
  static std::string type(ScalarType type, bool group);

  /// The program's name for it with the value's number, `scale_27`, or `v27`.
  std::string name(ValueId id) const { return value_name(graph_, id); }

  /// The text of a value where it is used: its name, a literal, or, if it is used once, its operation.
  std::string use(ValueId id, bool group) const;

  /// The operation itself, for the right side of its definition.
  std::string definition(ValueId id) const;

 private:
  std::string operation(ValueId id) const;
  std::string conversion(const Value& value, const std::string& operand) const;

  const RoutineValues& values_;
  const Graph& graph_;
};

}  // namespace casync::compll
