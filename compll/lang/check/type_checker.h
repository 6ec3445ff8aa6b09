// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "compll/lang/check/names.h"
#include "compll/lang/syntax/tree.h"
#include "compll/lang/type.h"

namespace casync::compll {

struct CodeChecker;

/// Finds the types that a file writes, and the numbers that they may be made of.
class TypeChecker {
 public:
  explicit TypeChecker(CodeChecker& code) : code_(code) {}

  /// The type of this name: float, double, int, uint, bool, trit, int1 to int32, uint1 to uint32. Empty: there is none.
  static std::optional<ScalarType> named(std::string_view name);

  DeclaredType type_of(const TypeName& name);
  /// Returns the value of a constant, which is made of numbers, known parameters and arithmetic.
  double constant(const Expression& expression, const std::string& what) { return value_of(expression, what, false); }
  /// The same with each quotient rounded down.
  double whole_constant(const Expression& expression, const std::string& what) {
    return value_of(expression, what, true);
  }
  /// The parameter of a block by its name; empty: it has none.
  std::optional<ParameterId> parameter_of(const ParameterList& block, std::string_view name) const;
  /// Sets the variables that decode extracts parameters into, by the places of their declarations.
  void know_extracted(std::map<std::size_t, ParameterId> extracted) { extracted_ = std::move(extracted); }

 private:
  double value_of(const Expression& expression, const std::string& what, bool rounds_down);
  std::optional<ParameterId> parameter_in(const Expression& expression) const;

  CodeChecker& code_;
  std::map<std::size_t, ParameterId> extracted_;
};

}  // namespace casync::compll
