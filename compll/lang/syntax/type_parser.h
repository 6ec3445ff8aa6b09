// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "compll/lang/syntax/token_reader.h"
#include "compll/lang/syntax/tree.h"

namespace casync::compll {

class ExpressionParser;

/// Types, and variables with their types. Every method throws ParseMistake after it has reported one.
class TypeParser {
 public:
  TypeParser(TokenReader& tokens, ExpressionParser& expressions) : tokens_(tokens), expressions_(expressions) {}

  TypeName read_type();
  Variable read_variable();
  std::vector<Variable> read_variables(const std::string& of);
  std::vector<TypeName> read_results();
  /// Returns true if a declaration begins here: two names, a name with a star, `uint<`.
  bool is_type_ahead() const;

 private:
  TokenReader& tokens_;
  ExpressionParser& expressions_;  ///< reads the width of `uint<bits>`
};

}  // namespace casync::compll
