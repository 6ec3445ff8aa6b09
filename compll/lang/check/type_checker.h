// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

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
  double constant(const Expression& expression, const std::string& what);
  /// Sets the values that types may be made of.
  void know(const std::map<std::string_view, double>& known) { known_ = known; }

 private:
  double known_value(const Expression& at, const Name& name, const std::string& what);
  const Word* parameter_of_block(const Expression& expression) const;

  CodeChecker& code_;
  std::map<std::string_view, double> known_;
};

}  // namespace casync::compll
