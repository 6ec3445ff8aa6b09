// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/syntax/expression_parser.h"

#include <utility>

#include "compll/lang/operators.h"
#include "compll/lang/syntax/statement_parser.h"

namespace casync::compll {
namespace {

/// The words that begin the name of a type; a variable of such a name would be no type in parentheses.
bool is_type_name(std::string_view word) {
  for (const std::string_view each : {"float", "double", "bool", "trit", "const", "unsigned", "signed"}) {
    if (word == each) return true;
  }
  if (word.starts_with("u")) word.remove_prefix(1);
  if (!word.starts_with("int")) return false;
  word.remove_prefix(3);
  return word.find_first_not_of("0123456789") == word.npos;
}

int binding(const Token& token) {
  for (const SignWord& word : kSignWords) {
    if (token.is(word.sign)) return word.binds;
  }
  return 0;
}

template <class Node>
ExpressionPtr make_expression(Span at, Node node) {
  return std::make_unique<Expression>(Expression{at, std::move(node)});
}

}  // namespace

ExpressionPtr ExpressionParser::read_expression() {
  const Nesting nesting = nest();
  return read_conditional();
}

ExpressionPtr ExpressionParser::read_width() { return read_binary(9); }

ExpressionPtr ExpressionParser::read_conditional() {
  ExpressionPtr condition = read_binary(1);
  if (!tokens_.take_if("?")) return condition;
  ExpressionPtr yes = read_expression();
  tokens_.expect(":", "between the two values of `?`");
  ExpressionPtr no = read_expression();
  const Span at = between(condition->at, no->at);
  return make_expression(at, Conditional{std::move(condition), std::move(yes), std::move(no)});
}

ExpressionPtr ExpressionParser::read_binary(int least) {
  const Nesting nesting(tokens_, depth_, Nesting::Of::kOperand);
  ExpressionPtr left = read_unary();
  for (int links = 0; const int binds = binding(tokens_.now()); ++links) {
    if (binds < least) break;
    if (links == kMostChain) tokens_.refuse("a chain of operations that is too long", "give parts of it names");
    Nesting::wrap(tokens_, depth_);
    const Token& sign = tokens_.take();
    ExpressionPtr right = read_binary(binds + 1);
    Nesting::need_height(tokens_, depth_);
    const Span at = between(left->at, right->at);
    left = make_expression(at, Binary{sign.text, sign.at, std::move(left), std::move(right)});
  }
  return left;
}

ExpressionPtr ExpressionParser::read_unary() {
  const Nesting nesting = nest();
  for (const std::string_view sign : {"-", "!", "~"}) {
    if (!tokens_.now().is(sign)) continue;
    const Token& token = tokens_.take();
    ExpressionPtr operand = read_unary();
    const Span at = between(token.at, operand->at);
    return make_expression(at, Unary{token.text, std::move(operand)});
  }
  if (is_cast_ahead()) return read_cast();
  return read_postfix();
}

/// `(uint8) x`: a type in parentheses, then a value. The width of `uint<bits>` may have parentheses of its own; what
/// follows the width may not: `(uint<bits>(x) + 1) - 2` is a sum in parentheses.
bool ExpressionParser::is_cast_ahead() const {
  if (!tokens_.now().is("(") || !is_type_name(tokens_.ahead(1).text)) return false;
  bool in_width = false;
  for (std::size_t i = 2, open = 1; i < 64; ++i) {
    const Token& token = tokens_.ahead(i);
    if (open == 1 && (token.is("<") || token.is(">"))) in_width = token.is("<");
    if (token.is(",") || token.kind == Token::Kind::kEnd || (token.is("(") && !in_width)) return false;
    if (token.is("(")) ++open;
    if (!token.is(")") || --open != 0) continue;
    const Token& next = tokens_.ahead(i + 1);
    return next.kind == Token::Kind::kName || next.kind == Token::Kind::kInteger || next.kind == Token::Kind::kReal ||
           next.is("(") || next.is("-") || next.is("~") || next.is("!");
  }
  return false;
}

ExpressionPtr ExpressionParser::read_cast() {
  const Token& open = tokens_.take();
  Call call;
  call.type = std::make_unique<TypeName>(types_.read_type());
  call.callee = call.type->name;
  tokens_.expect(")", "behind the type of a conversion");
  call.arguments.push_back(read_unary());
  const Span at = between(open.at, call.arguments.front()->at);
  return make_expression(at, std::move(call));
}

ExpressionPtr ExpressionParser::read_postfix() {
  ExpressionPtr value = read_primary();
  for (int links = 0;; ++links) {
    if (links == kMostNesting) tokens_.refuse("a chain of indices and members that is too long");
    if (tokens_.now().is("[") || tokens_.now().is(".")) Nesting::wrap(tokens_, depth_);
    if (tokens_.take_if("[")) {
      ExpressionPtr index = read_expression();
      const Span at = between(value->at, tokens_.expect("]", "behind an index").at);
      value = make_expression(at, Index{std::move(value), std::move(index)});
    } else if (tokens_.take_if(".")) {
      const Token& name = tokens_.expect(Token::Kind::kName, "a name behind `.`", "an array has `.size`");
      const Span at = between(value->at, name.at);
      value = make_expression(at, Member{std::move(value), {name.text, name.at}});
    } else {
      return value;
    }
  }
}

ExpressionPtr ExpressionParser::read_primary() {
  const Token& token = tokens_.now();
  if (token.kind == Token::Kind::kInteger || token.kind == Token::Kind::kReal) {
    tokens_.take();
    return make_expression(token.at, Number{token.number, token.kind == Token::Kind::kReal, token.real});
  }
  if (token.is("(")) return read_parenthesis();
  if (token.is("[")) return read_lambda();
  if (token.kind != Token::Kind::kName) tokens_.refuse("expected a value");
  if ((token.is("int") || token.is("uint")) && tokens_.ahead(1).is("<")) return read_conversion();
  tokens_.take();
  const bool typed = tokens_.now().is("<") && token.text == "random";
  if (tokens_.now().is("(") || typed) return read_call(token);
  return make_expression(token.at, Name{token.text});
}

ExpressionPtr ExpressionParser::read_parenthesis() {
  const Span begin = tokens_.take().at;
  std::vector<ExpressionPtr> parts = read_list(")", "behind what began with `(`");
  const Span at = between(begin, tokens_.before().at);
  if (parts.empty()) {
    tokens_.diagnostics().add(at, "there is no value between `(` and `)`");
    throw ParseMistake();
  }
  if (parts.size() > 1) return make_expression(at, Tuple{std::move(parts)});
  parts.front()->at = at;
  return std::move(parts.front());
}

ExpressionPtr ExpressionParser::read_call(const Token& callee) {
  Call call{{callee.text, callee.at}, nullptr, {}};
  if (tokens_.take_if("<")) {
    call.type = std::make_unique<TypeName>(types_.read_type());
    tokens_.expect(">", "behind the type of `random`", "write `random<float>(0, 1)`");
  }
  tokens_.expect("(", "behind `" + std::string(callee.text) + "`");
  call.arguments = read_list(")", "behind the arguments of `" + std::string(callee.text) + "`");
  return make_expression(between(callee.at, tokens_.before().at), std::move(call));
}

/// `uint<bits>(x)`.
ExpressionPtr ExpressionParser::read_conversion() {
  Call call;
  call.type = std::make_unique<TypeName>(types_.read_type());
  call.callee = call.type->name;
  tokens_.expect("(", "behind the type of a conversion");
  call.arguments = read_list(")", "behind what is converted");
  return make_expression(between(call.callee.at, tokens_.before().at), std::move(call));
}

std::vector<ExpressionPtr> ExpressionParser::read_list(std::string_view end, const std::string& where) {
  std::vector<ExpressionPtr> list;
  if (tokens_.take_if(end)) return list;
  do {
    list.push_back(read_expression());
  } while (tokens_.take_if(","));
  tokens_.expect(end, where);
  return list;
}

ExpressionPtr ExpressionParser::read_lambda() {
  const Nesting nesting = nest();
  const Span begin = tokens_.take().at;
  const std::string hint = "a function is written `[&](float x) -> float { return x; }`";
  if (!tokens_.take_if("&")) tokens_.take_if("=");
  tokens_.expect("]", "at the beginning of a function", hint);
  Lambda lambda;
  lambda.parameters = types_.read_variables("the function");
  tokens_.expect("->", "behind the function's parameters", hint);
  lambda.results = types_.read_results();
  const Span at = between(begin, tokens_.before().at);
  lambda.body = statements_.read_block("the function");
  return make_expression(at, std::move(lambda));
}

}  // namespace casync::compll
