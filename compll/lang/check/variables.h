// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "compll/lang/check/names.h"
#include "compll/lang/program.h"
#include "compll/lang/syntax/tree.h"
#include "compll/lang/terms.h"

namespace casync::compll {

struct CodeChecker;

/// The names of a file and the values of its variables at the place that is checked. A variable of the file has a slot;
/// the value in it is one of the program's variables, each of which is given its value once.
class Variables {
 public:
  using Values = std::vector<std::optional<VariableId>>;

  explicit Variables(CodeChecker& code) : code_(code) {}

  Names& names() { return names_; }
  /// The values of all slots, now.
  Values& values() { return values_; }
  const std::optional<VariableId>& value(const Declared::Variable& variable) const { return values_[variable.slot]; }

  /// Declares a name in the innermost scope.
  void declare(const Word& word, decltype(Declared::what) what);
  void declare_variable(const Word& word, DeclaredType type, std::optional<VariableId> value);
  /// Adds a variable to the program.
  VariableId new_variable(std::string_view name, Type type, Span at);
  /// Gives values to variables of their own, each in one step, because a term of several results is computed once.
  std::vector<VariableId> keep(Terms values, std::string_view name, Span at);
  /// Forgets assigned values ahead of a routine: values that another one assigned are another run's.
  void forget_values() { values_.assign(values_.size(), std::nullopt); }

  /// The variable of this name; null if it is none.
  const Declared::Variable* find(std::string_view name) const;
  /// Takes the variable of this name, if there is one, for one that has a value nobody knows: its own was refused.
  void spoil(std::string_view name);
  bool is_spoilt(const Declared::Variable& variable) const { return spoilt_.count(variable.slot) != 0; }

  /// The terms that variables of one element, outside of functions of elements, were given.
  const std::map<VariableId, const Term*>& elements() const { return elements_; }

 private:
  CodeChecker& code_;
  Names names_;
  Values values_;
  std::set<std::size_t> spoilt_;  ///< slots of variables whose value was refused
  std::map<VariableId, const Term*> elements_;
};

}  // namespace casync::compll
