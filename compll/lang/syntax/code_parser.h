// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/lang/syntax/token_reader.h"
#include "compll/lang/syntax/tree.h"

namespace casync::compll {

/// Expressions, types and statements: the inside of functions. Every method throws ParseMistake after it has
/// reported one, except read_block, which goes on after it.
class CodeParser {
 public:
  explicit CodeParser(TokenReader& tokens) : tokens_(tokens) {}

  ExpressionPtr read_expression();
  Block read_block(const std::string& of);
  StatementPtr read_statement();
  TypeName read_type();
  Variable read_variable();
  std::vector<Variable> read_variables(const std::string& of);
  std::vector<TypeName> read_results();
  /// Returns true if a declaration begins here: two names, a name with a star, `uint<`.
  bool is_type_ahead() const;

 private:
  ExpressionPtr read_conditional();
  ExpressionPtr read_binary(int least);
  ExpressionPtr read_unary();
  bool is_cast_ahead() const;
  ExpressionPtr read_cast();
  ExpressionPtr read_postfix();
  ExpressionPtr read_primary();
  ExpressionPtr read_parenthesis();
  ExpressionPtr read_call(const Token& callee);
  ExpressionPtr read_lambda();
  std::vector<ExpressionPtr> read_list(std::string_view end, const std::string& where);

  StatementPtr read_if();
  StatementPtr read_repeat();
  StatementPtr read_return();
  StatementPtr read_lambda_declaration();
  StatementPtr read_declaration();
  StatementPtr read_several();
  StatementPtr read_step();
  StatementPtr read_assignment();
  bool is_several_ahead() const;

  TokenReader& tokens_;
  int depth_ = 0;
};

}  // namespace casync::compll
