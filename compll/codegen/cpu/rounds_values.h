// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compll/lang/program.h"

namespace casync::compll {

struct RoundsRoutine;

/// Single values of a turn as expressions, and functions of elements.
class RoundsValues {
 public:
  explicit RoundsValues(RoundsRoutine& text) : text_(text) {}

  /// The text of one value, after the lines it needs.
  std::string scalar(const Term& term);
  /// Writes those lines: they name the reductions in a value, which are loops of their own, and arrays of which it
  /// reads single elements.
  void hoist(const Term& term);
  /// Gives the variable of a value its name.
  void name(VariableId id, const std::string& name) { values_[id] = name; }
  const std::string& name(VariableId id) const { return values_.at(id); }

  /// Writes a function's lines and what it returns.
  void write_body(const Body& body, const std::vector<std::string>& arguments);
  /// The call that reduces so many elements of an array.
  std::string reduction(const Term& term, const std::string& count, const std::string& from);

 private:
  std::string expression(const Term& term);
  std::string function(const Term& term);

  RoundsRoutine& text_;
  std::map<VariableId, std::string> values_;
  std::map<const Term*, std::string> hoisted_;
};

}  // namespace casync::compll
