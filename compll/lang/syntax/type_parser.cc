// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/syntax/type_parser.h"

#include <utility>

#include "compll/lang/syntax/expression_parser.h"

namespace casync::compll {

bool TypeParser::is_type_ahead() const {
  if (tokens_.now().kind != Token::Kind::kName || tokens_.now().is("return")) return false;
  const Token& next = tokens_.ahead(1);
  if (next.kind == Token::Kind::kName) return true;
  if ((tokens_.now().is("uint") || tokens_.now().is("int")) && next.is("<")) return true;
  // `float* x`, and not the product `a * x` as a statement, which would do nothing.
  return next.is("*") && tokens_.ahead(2).kind == Token::Kind::kName;
}

TypeName TypeParser::read_type() {
  while (tokens_.take_if("const")) {
  }
  const Token& name = tokens_.expect(Token::Kind::kName, "a type", "types are float, int, uint, bool, uint1 to uint32");
  TypeName type{{name.text, name.at}, nullptr, false, name.at};
  // C's names for the integers of 32 bits.
  const bool is_unsigned = name.is("unsigned");
  if (is_unsigned || name.is("signed")) {
    type.name.text = is_unsigned ? "uint" : "int";
    if (tokens_.now().is("int")) type.name.at = between(name.at, tokens_.take().at);
    for (const std::string_view other : {"char", "short", "long"}) {
      if (tokens_.now().is(other)) {
        tokens_.refuse("expected `int` behind `" + std::string(name.text) + "`",
                       "types have their width in their name: uint8, int16, uint32");
      }
    }
  }
  if (tokens_.take_if("<")) {
    type.width = expressions_.read_width();
    tokens_.expect(">", "behind the width of a type", "write `uint<bits>`, with a sum in parentheses if need be");
  }
  type.array = tokens_.take_if("*");
  type.at = between(name.at, tokens_.before().at);
  return type;
}

Variable TypeParser::read_variable() {
  TypeName type = read_type();
  const Token& name = tokens_.expect(Token::Kind::kName, "a name behind the type");
  return {std::move(type), {name.text, name.at}};
}

std::vector<Variable> TypeParser::read_variables(const std::string& of) {
  std::vector<Variable> variables;
  tokens_.expect("(", "before the parameters of " + of);
  if (tokens_.take_if(")")) return variables;
  do {
    variables.push_back(read_variable());
  } while (tokens_.take_if(","));
  tokens_.expect(")", "behind the parameters of " + of);
  return variables;
}

std::vector<TypeName> TypeParser::read_results() {
  std::vector<TypeName> results;
  if (!tokens_.take_if("(")) {
    results.push_back(read_type());
    return results;
  }
  do {
    results.push_back(read_type());
  } while (tokens_.take_if(","));
  tokens_.expect(")", "behind the types of the results");
  return results;
}

}  // namespace casync::compll
