// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "compll/lang/syntax/code_parser.h"
#include "compll/lang/syntax/nesting.h"

namespace casync::compll {
namespace {

template <class Node>
StatementPtr make(Span at, Node node) {
  return std::make_unique<Statement>(Statement{at, std::move(node)});
}

}  // namespace

bool CodeParser::is_type_ahead() const {
  if (tokens_.now().kind != Token::Kind::kName || tokens_.now().is("return")) return false;
  const Token& next = tokens_.ahead(1);
  if (next.kind == Token::Kind::kName) return true;
  if ((tokens_.now().is("uint") || tokens_.now().is("int")) && next.is("<")) return true;
  // `float* x`, and not the product `a * x` as a statement, which would do nothing.
  return next.is("*") && tokens_.ahead(2).kind == Token::Kind::kName;
}

TypeName CodeParser::read_type() {
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
    // Does not use read_expression: that would take the `>` for a comparison.
    type.width = read_binary(9);
    tokens_.expect(">", "behind the width of a type", "write `uint<bits>`, with a sum in parentheses if need be");
  }
  type.array = tokens_.take_if("*");
  type.at = between(name.at, tokens_.before().at);
  return type;
}

Variable CodeParser::read_variable() {
  TypeName type = read_type();
  const Token& name = tokens_.expect(Token::Kind::kName, "a name behind the type");
  return {std::move(type), {name.text, name.at}};
}

std::vector<Variable> CodeParser::read_variables(const std::string& of) {
  std::vector<Variable> variables;
  tokens_.expect("(", "before the parameters of " + of);
  if (tokens_.take_if(")")) return variables;
  do {
    variables.push_back(read_variable());
  } while (tokens_.take_if(","));
  tokens_.expect(")", "behind the parameters of " + of);
  return variables;
}

std::vector<TypeName> CodeParser::read_results() {
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

Block CodeParser::read_block(const std::string& of) {
  const Nesting nesting(tokens_, depth_);
  Block block;
  tokens_.expect("{", "before the body of " + of);
  while (!tokens_.now().is("}")) {
    if (tokens_.at_end()) tokens_.refuse("expected `}` behind the body of " + of);
    try {
      block.push_back(read_statement());
    } catch (const ParseMistake&) {
      if (tokens_.diagnostics().full()) throw;
      tokens_.skip_statement();
    }
  }
  tokens_.take();
  return block;
}

StatementPtr CodeParser::read_statement() {
  const Nesting nesting(tokens_, depth_);
  if (tokens_.now().is("if")) return read_if();
  if (tokens_.now().is("repeat")) return read_repeat();
  if (tokens_.now().is("return")) return read_return();
  if (tokens_.now().is("lambda_func")) return read_lambda_declaration();
  for (const std::string_view loop : {"for", "while", "do"}) {
    if (tokens_.now().is(loop)) {
      tokens_.refuse("this language has no such loop",
                     "arrays are worked on by `map` and `reduce`; `repeat (8) {...}`"
                     " runs a constant number of times");
    }
  }
  if (is_several_ahead()) return read_several();
  if (is_type_ahead()) return read_declaration();
  return read_assignment();
}

StatementPtr CodeParser::read_if() {
  const Span begin = tokens_.take().at;
  If node;
  tokens_.expect("(", "behind `if`");
  node.condition = read_expression();
  tokens_.expect(")", "behind the condition of `if`");
  const auto branch = [&] {
    if (tokens_.now().is("{")) return read_block("`if`");
    Block one;
    one.push_back(read_statement());
    return one;
  };
  const Span at = between(begin, tokens_.before().at);
  node.yes = branch();
  if (tokens_.take_if("else")) node.no = branch();
  return make(at, std::move(node));
}

StatementPtr CodeParser::read_repeat() {
  const Span begin = tokens_.take().at;
  Repeat node;
  tokens_.expect("(", "behind `repeat`");
  node.times = read_expression();
  tokens_.expect(")", "behind the count of `repeat`");
  const Span at = between(begin, tokens_.before().at);
  node.body = read_block("`repeat`");
  return make(at, std::move(node));
}

StatementPtr CodeParser::read_return() {
  const Span begin = tokens_.take().at;
  ExpressionPtr value = tokens_.now().is(";") ? nullptr : read_expression();
  tokens_.expect(";", "behind `return`");
  return make(between(begin, tokens_.before().at), Return{std::move(value)});
}

// Published programs leave out the semicolon after the brace.
StatementPtr CodeParser::read_lambda_declaration() {
  const Token& type = tokens_.take();
  const Token& name = tokens_.expect(Token::Kind::kName, "a name behind `lambda_func`");
  tokens_.expect("=", "behind the name of a function");
  if (!tokens_.now().is("[")) {
    tokens_.refuse("expected a function", "a function is written `[&](float x) -> float { return x; }`");
  }
  ExpressionPtr value = read_primary();
  tokens_.take_if(";");
  Declare node;
  node.variables.push_back({{{type.text, type.at}, nullptr, false, type.at}, {name.text, name.at}});
  node.value = std::move(value);
  return make(between(type.at, name.at), std::move(node));
}

StatementPtr CodeParser::read_declaration() {
  const Span begin = tokens_.now().at;
  Declare node;
  node.variables.push_back(read_variable());
  if (tokens_.take_if("=")) {
    node.value = read_expression();
  } else {
    while (tokens_.take_if(",")) {  // float min, max;
      const TypeName& type = node.variables.front().type;
      if (type.width != nullptr) tokens_.refuse("expected `;`", "declare variables of a computed width one by one");
      const Token& name = tokens_.expect(Token::Kind::kName, "a name behind `,`");
      node.variables.push_back({{type.name, nullptr, type.array, type.at}, {name.text, name.at}});
    }
  }
  tokens_.expect(";", "behind a declaration");
  return make(between(begin, tokens_.before().at), std::move(node));
}

// `(float* a, uint1* b) = ...`, and not a value in parentheses.
bool CodeParser::is_several_ahead() const {
  if (!tokens_.now().is("(") || tokens_.ahead(1).kind != Token::Kind::kName) return false;
  const Token& second = tokens_.ahead(2);
  return second.kind == Token::Kind::kName || second.is("*") || second.is("<");
}

StatementPtr CodeParser::read_several() {
  const Span begin = tokens_.now().at;
  Declare node;
  node.variables = read_variables("a declaration");
  tokens_.expect("=", "behind the variables");
  node.value = read_expression();
  tokens_.expect(";", "behind a declaration");
  return make(between(begin, tokens_.before().at), std::move(node));
}

/// `i++;` or `++i;`, which is `i += 1;`. Null where this is none.
StatementPtr CodeParser::read_step() {
  const bool first = tokens_.now().is("++") || tokens_.now().is("--");
  const Token& sign = tokens_.ahead(first ? 0 : 1);
  const Token& name = tokens_.ahead(first ? 1 : 0);
  if ((!sign.is("++") && !sign.is("--")) || name.kind != Token::Kind::kName) return nullptr;
  const Span at = {std::min(sign.at.begin, name.at.begin), std::max(sign.at.end, name.at.end)};
  tokens_.take();
  tokens_.take();
  tokens_.expect(";", "behind a statement");
  ExpressionPtr one = std::make_unique<Expression>(Expression{at, Number{1, false}});
  return make(at, Assign{{name.text, name.at}, sign.is("++") ? "+=" : "-=", std::move(one)});
}

StatementPtr CodeParser::read_assignment() {
  const Span begin = tokens_.now().at;
  const Token& name = tokens_.now();
  if (StatementPtr step = read_step()) return step;
  if (name.kind == Token::Kind::kName) {
    for (const std::string_view sign : {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}) {
      if (!tokens_.ahead(1).is(sign)) continue;
      tokens_.take();
      const Token& token = tokens_.take();
      ExpressionPtr value = read_expression();
      tokens_.expect(";", "behind an assignment");
      return make(between(begin, tokens_.before().at), Assign{{name.text, name.at}, token.text, std::move(value)});
    }
  }
  ExpressionPtr value = read_expression();
  tokens_.expect(";", "behind a statement");
  return make(between(begin, tokens_.before().at), Evaluate{std::move(value)});
}

}  // namespace casync::compll
