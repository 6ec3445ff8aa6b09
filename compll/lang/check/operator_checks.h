// SPDX-License-Identifier: Apache-2.0
//
// The checks of operators on arrays: one function for each COMPLL_CALL of operators.def.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "compll/lang/check/code_checker.h"
#include "compll/lang/syntax/tree.h"
#include "compll/lang/terms.h"

namespace casync::compll {

inline constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();

/// The use of an operator that is being checked.
struct OperatorUse {
  CodeChecker& code;
  const Expression& at;
  const Call& node;

  std::string_view word() const { return node.callee.text; }
  /// The word as messages have it: `map`.
  std::string quoted() const { return "`" + std::string(word()) + "`"; }
  std::size_t count() const { return node.arguments.size(); }
  const Expression& argument(std::size_t i) const { return *node.arguments[i]; }
  const Expression& last() const { return *node.arguments.back(); }

  TermPtr array(std::size_t i) const { return code.expressions.check_array(argument(i), quoted()); }
  TermPtr floats(std::size_t i) const { return code.expressions.check_floats(argument(i), quoted()); }
  /// The size of an array that this argument is.
  Extent size(std::size_t i) const { return code.sizes.size_of(argument(i), quoted()); }
  /// A term of this operation at this place.
  TermPtr term(Op op, Type type, Terms arguments = {}) const {
    return make_term(op, at.at, type, std::move(arguments));
  }
  /// map(array, function), for operators that take a function of each element.
  TermPtr mapped(TermPtr array, const Expression& function) const;
  /// Refuses a function that draws random numbers: two elements that meet are at no place of their own.
  void need_no_random(const Body& body, Span function_at) const;
  [[noreturn]] void refuse(Span where, std::string message, std::string hint = "") const {
    code.refuse(where, std::move(message), std::move(hint));
  }
};

/// An operator that programs call.
struct OperatorCall {
  std::string_view word;
  std::size_t least, most;  ///< the number of arguments
  const char* form;         ///< an example
  TermPtr (*check)(const OperatorUse& use);
};

std::span<const OperatorCall> operator_calls();
/// Null if there is no operator of this name.
const OperatorCall* operator_call(std::string_view word);

/// The term of an operator that is used outside of functions of elements.
TermPtr check_operator(CodeChecker& code, const OperatorCall& call, const Expression& at, const Call& node);

// In the number of arguments that the table allows; anything else about them is the function's to check.
#define COMPLL_CALL(word, ...) TermPtr check_##word(const OperatorUse& use);
#include "compll/lang/operators.def"

}  // namespace casync::compll
