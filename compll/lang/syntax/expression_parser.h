// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compll/lang/syntax/nesting.h"
#include "compll/lang/syntax/token_reader.h"
#include "compll/lang/syntax/tree.h"
#include "compll/lang/syntax/type_parser.h"

namespace casync::compll {

class StatementParser;

/// Expressions, with the functions in them. Every method throws ParseMistake after it has reported one.
class ExpressionParser {
 public:
  ExpressionParser(TokenReader& tokens, StatementParser& statements) : tokens_(tokens), statements_(statements) {}

  ExpressionPtr read_expression();
  /// Reads the sum between `<` and `>`: no comparison, which would take the `>`.
  ExpressionPtr read_width();
  ExpressionPtr read_lambda();

  TypeParser& types() { return types_; }
  /// Counts one more level, of an expression or a statement, while the result lives.
  Nesting nest() { return Nesting(tokens_, depth_, Nesting::Of::kLevel); }

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
  ExpressionPtr read_conversion();
  std::vector<ExpressionPtr> read_list(std::string_view end, const std::string& where);

  TokenReader& tokens_;
  StatementParser& statements_;  ///< reads the bodies of functions
  TypeParser types_{tokens_, *this};
  Depth depth_;
};

}  // namespace casync::compll
