// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/syntax/statement_parser.h"

#include <algorithm>
#include <utility>

#include "compll/lang/syntax/nesting.h"

namespace casync::compll {
namespace {

template <class Node>
StatementPtr make_statement(Span at, Node node) {
  return std::make_unique<Statement>(Statement{at, std::move(node)});
}

}  // namespace

Block StatementParser::read_block(const std::string& of) {
  const Nesting nesting = expressions_.nest();
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

StatementPtr StatementParser::read_statement() {
  const Nesting nesting = expressions_.nest();
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
  if (types_.is_type_ahead()) return read_declaration();
  return read_assignment();
}

StatementPtr StatementParser::read_if() {
  const Span begin = tokens_.take().at;
  If node;
  tokens_.expect("(", "behind `if`");
  node.condition = expressions_.read_expression();
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
  return make_statement(at, std::move(node));
}

StatementPtr StatementParser::read_repeat() {
  const Span begin = tokens_.take().at;
  Repeat node;
  tokens_.expect("(", "behind `repeat`");
  node.times = expressions_.read_expression();
  tokens_.expect(")", "behind the count of `repeat`");
  const Span at = between(begin, tokens_.before().at);
  node.body = read_block("`repeat`");
  return make_statement(at, std::move(node));
}

StatementPtr StatementParser::read_return() {
  const Span begin = tokens_.take().at;
  ExpressionPtr value = tokens_.now().is(";") ? nullptr : expressions_.read_expression();
  tokens_.expect(";", "behind `return`");
  return make_statement(between(begin, tokens_.before().at), Return{std::move(value)});
}

// Published programs leave out the semicolon after the brace.
StatementPtr StatementParser::read_lambda_declaration() {
  const Token& type = tokens_.take();
  const Token& name = tokens_.expect(Token::Kind::kName, "a name behind `lambda_func`");
  tokens_.expect("=", "behind the name of a function");
  if (!tokens_.now().is("[")) {
    tokens_.refuse("expected a function", "a function is written `[&](float x) -> float { return x; }`");
  }
  ExpressionPtr value = expressions_.read_lambda();
  tokens_.take_if(";");
  Declare node;
  node.variables.push_back({{{type.text, type.at}, nullptr, false, type.at}, {name.text, name.at}});
  node.value = std::move(value);
  return make_statement(between(type.at, name.at), std::move(node));
}

StatementPtr StatementParser::read_declaration() {
  const Span begin = tokens_.now().at;
  Declare node;
  node.variables.push_back(types_.read_variable());
  if (tokens_.take_if("=")) {
    node.value = expressions_.read_expression();
  } else {
    while (tokens_.take_if(",")) {  // float min, max;
      const TypeName& type = node.variables.front().type;
      if (type.width != nullptr) tokens_.refuse("expected `;`", "declare variables of a computed width one by one");
      const Token& name = tokens_.expect(Token::Kind::kName, "a name behind `,`");
      node.variables.push_back({{type.name, nullptr, type.array, type.at}, {name.text, name.at}});
    }
  }
  tokens_.expect(";", "behind a declaration");
  return make_statement(between(begin, tokens_.before().at), std::move(node));
}

// `(float* a, uint1* b) = ...`, and not a value in parentheses.
bool StatementParser::is_several_ahead() const {
  if (!tokens_.now().is("(") || tokens_.ahead(1).kind != Token::Kind::kName) return false;
  const Token& second = tokens_.ahead(2);
  return second.kind == Token::Kind::kName || second.is("*") || second.is("<");
}

StatementPtr StatementParser::read_several() {
  const Span begin = tokens_.now().at;
  Declare node;
  node.variables = types_.read_variables("a declaration");
  tokens_.expect("=", "behind the variables");
  node.value = expressions_.read_expression();
  tokens_.expect(";", "behind a declaration");
  return make_statement(between(begin, tokens_.before().at), std::move(node));
}

/// `i++;` or `++i;`, which is `i += 1;`. Null where this is none.
StatementPtr StatementParser::read_step() {
  const bool first = tokens_.now().is("++") || tokens_.now().is("--");
  const Token& sign = tokens_.ahead(first ? 0 : 1);
  const Token& name = tokens_.ahead(first ? 1 : 0);
  if ((!sign.is("++") && !sign.is("--")) || name.kind != Token::Kind::kName) return nullptr;
  const Span at = {std::min(sign.at.begin, name.at.begin), std::max(sign.at.end, name.at.end)};
  tokens_.take();
  tokens_.take();
  tokens_.expect(";", "behind a statement");
  ExpressionPtr one = std::make_unique<Expression>(Expression{at, Number{1, false, 1}});
  return make_statement(at, Assign{{name.text, name.at}, sign.is("++") ? "+=" : "-=", std::move(one)});
}

StatementPtr StatementParser::read_assignment() {
  const Span begin = tokens_.now().at;
  const Token& name = tokens_.now();
  if (StatementPtr step = read_step()) return step;
  if (name.kind == Token::Kind::kName) {
    for (const std::string_view sign : {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}) {
      if (!tokens_.ahead(1).is(sign)) continue;
      tokens_.take();
      const Token& token = tokens_.take();
      ExpressionPtr value = expressions_.read_expression();
      tokens_.expect(";", "behind an assignment");
      return make_statement(between(begin, tokens_.before().at),
                            Assign{{name.text, name.at}, token.text, std::move(value)});
    }
  }
  ExpressionPtr value = expressions_.read_expression();
  tokens_.expect(";", "behind a statement");
  return make_statement(between(begin, tokens_.before().at), Evaluate{std::move(value)});
}

}  // namespace casync::compll
