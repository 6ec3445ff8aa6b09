// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "compll/codegen/idioms.h"
#include "compll/ir/graph.h"
#include "compll/ir/ranges.h"

namespace casync::compll {

/// How values are written: names, literals, operations. The same text serves one element and sixteen; only the names
/// of types differ.
class ExpressionText {
 public:
  explicit ExpressionText(const Graph& graph, Idioms idioms = {});

  /// The type's name: of one element (`float`), or of sixteen (`Float`).
  static std::string type(ScalarType type, bool group);

  /// The program's own word with the value's number, `scale_27`, or `v27`.
  std::string name(ValueId id) const;

  /// What the value is where it is used: its name, a literal, or, for what is used once, its operation.
  std::string use(ValueId id, bool group) const;

  /// The operation itself, for the right side of its definition.
  std::string definition(ValueId id) const;

  /// Whether the value gets a line of its own.
  bool has_line(ValueId id) const;

  /// How many operations are made of the value.
  int uses(ValueId id) const { return uses_[id]; }

  /// Says that one of them is made of `other` in its place.
  void use_instead(ValueId id, ValueId other) {
    --uses_[id];
    ++uses_[other];
  }

  /// Marks a value as one that has a name although it is used once: what is loaded, stored or reduced.
  void keep(ValueId id) { kept_[id] = true; }

 private:
  std::string operation(ValueId id) const;
  std::string conversion(const Value& value, const std::string& operand) const;

  const Graph& graph_;
  std::vector<Range> ranges_;
  Idioms idioms_;
  std::vector<int> uses_;
  std::vector<bool> kept_;
};

}  // namespace casync::compll
