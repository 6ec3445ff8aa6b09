// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "compll/lang/syntax/tree.h"
#include "compll/lang/terms.h"

namespace casync::compll {

struct CodeChecker;

/// Makes terms of expressions. `of` names the thing that needs one in messages: "`map`".
class ExpressionChecker {
 public:
  explicit ExpressionChecker(CodeChecker& code) : code_(code) {}

  /// A value, an array or one element.
  TermPtr check_one(const Expression& expression);
  /// All values, of a function of several results.
  Terms check_terms(const Expression& expression);
  TermPtr check_element(const Expression& expression, const std::string& of);
  TermPtr check_condition(const Expression& expression, const std::string& of);
  TermPtr check_array(const Expression& expression, const std::string& of);
  TermPtr check_floats(const Expression& expression, const std::string& of);

  /// The value of a name.
  TermPtr value_of(Span at, std::string_view name);
  /// An element of the array. Converts the index to int or to uint: a negative one is outside, not at the first place.
  static TermPtr element_of(TermPtr array, TermPtr index, Span at);
  /// One of C's signs between two elements.
  TermPtr operation(Span at, std::string_view written, Span sign_at, TermPtr left, TermPtr right);

 private:
  TermPtr parameter_value(Span at, ParameterId parameter) const;
  TermPtr check_node(const Expression& at, const Number& node);
  TermPtr check_node(const Expression& at, const Name& node);
  TermPtr check_node(const Expression& at, const Unary& node);
  TermPtr check_node(const Expression& at, const Binary& node);
  TermPtr check_node(const Expression& at, const Conditional& node);
  TermPtr check_node(const Expression& at, const Index& node);
  TermPtr check_node(const Expression& at, const Member& node);

  CodeChecker& code_;
};

}  // namespace casync::compll
