// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/lang/syntax/expression_parser.h"
#include "compll/lang/syntax/token_reader.h"
#include "compll/lang/syntax/tree.h"

namespace casync::compll {

/// Statements: the inside of functions. Every method throws ParseMistake after it has reported one, except read_block,
/// which goes on after it.
class StatementParser {
 public:
  explicit StatementParser(TokenReader& tokens) : tokens_(tokens) {}

  Block read_block(const std::string& of);
  StatementPtr read_statement();

  ExpressionParser& expressions() { return expressions_; }

 private:
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
  ExpressionParser expressions_{tokens_, *this};
  TypeParser& types_ = expressions_.types();
};

}  // namespace casync::compll
