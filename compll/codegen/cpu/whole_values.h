// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compll/lang/program.h"

namespace casync::compll {

struct WholeRoutine;

/// Single values as expressions, whose text serves one element and sixteen, and functions of elements.
class WholeValues {
 public:
  explicit WholeValues(WholeRoutine& text) : text_(text) {}

  /// The text of one value, after the lines it needs.
  std::string scalar(const Term& term);
  /// Writes those lines: they name the reductions in a value, which are loops of their own.
  void hoist(const Term& term);
  /// The text of a value whose lines are there.
  std::string expression(const Term& term);
  /// The values of a scatter, as an array.
  std::string values(const Term& scatter);

  /// Writes a function's lines and what it returns. `sixteen`: it serves sixteen elements, too.
  void write_body(const Body& body, const std::vector<std::string>& arguments, bool sixteen = false);
  /// Names a function of two elements: its lines stand ahead of the call that takes it.
  std::string function(const Term& term);

  /// The class that reduces sixteen elements at a time; empty: elements are reduced one by one.
  static std::optional<std::string> group_reducer(const Term& term);
  /// The call that reduces so many elements of an array one by one.
  std::string reduction(const Term& term, const std::string& count, const std::string& from);

 private:
  std::string tensor_reduction(const Term& term, const std::string& from);
  std::string leaf(const Term& term, const std::string& text) const;
  void define(VariableId id, const std::string& value);

  WholeRoutine& text_;
  std::map<const Term*, std::string> hoisted_;
  bool of_elements_ = false;    ///< the text written is a function of an element
  std::set<VariableId> local_;  ///< its own variables
};

}  // namespace casync::compll
