// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "compll/ir/tiles/graph.h"
#include "compll/ir/tiles/idioms.h"
#include "compll/ir/tiles/ranges.h"

namespace casync::compll {

/// Writes values: names, literals, operations. The same text serves one element and sixteen; only the names of types
/// differ.
class ExpressionText {
 public:
  explicit ExpressionText(const Graph& graph, Idioms idioms = {});

  /// The type's name: of one element (`float`), or of sixteen (`Float`).
  static std::string type(ScalarType type, bool group);

  /// The program's name for it with the value's number, `scale_27`, or `v27`.
  std::string name(ValueId id) const;

  /// The text of a value where it is used: its name, a literal, or, if it is used once, its operation.
  std::string use(ValueId id, bool group) const;

  /// The operation itself, for the right side of its definition.
  std::string definition(ValueId id) const;

  /// Returns true if the value gets a line of its own.
  bool has_line(ValueId id) const;

  /// The number of operations that use the value.
  int uses(ValueId id) const { return uses_[id]; }

  /// Moves one of these uses to `other`.
  void use_instead(ValueId id, ValueId other) {
    --uses_[id];
    ++uses_[other];
  }

  /// Marks a value that gets a name although it is used once: it is loaded, stored or reduced.
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
