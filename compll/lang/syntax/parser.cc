// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/syntax/parser.h"

#include <string_view>
#include <unordered_set>
#include <utility>

#include "compll/lang/syntax/statement_parser.h"
#include "compll/lang/syntax/token_reader.h"

namespace casync::compll {
namespace {

/// Reads the items of a file: the codec's declarations, parameters, state, variables and functions.
class FileParser {
 public:
  FileParser(const Tokens& tokens, Diagnostics& diagnostics) : tokens_(tokens, diagnostics) {}

  Tree run() {
    while (!tokens_.at_end() && !tokens_.diagnostics().full()) {
      try {
        read_item();
      } catch (const ParseMistake&) {
        tokens_.skip_statement();
        if (tokens_.now().is("}")) tokens_.take();
      }
    }
    return std::move(tree_);
  }

 private:
  void read_item() {
    if (tokens_.now().is("codec") && !tokens_.ahead(1).is("(")) return read_codec();
    if (tokens_.now().is("param")) return read_parameters();
    if (tokens_.now().is("state")) return read_state();
    if (tokens_.now().is("(") || types_.is_type_ahead()) return read_function_or_global();
    tokens_.refuse("expected `codec`, `param`, `state` or a function",
                   "a program has `void encode(float* gradient, uint8* compressed) {...}` and `decode`");
  }

  void read_codec() {
    const Span begin = tokens_.take().at;
    const Token& name = tokens_.expect(Token::Kind::kName, "a name behind `codec`");
    if (!tree_.codec.text.empty()) {
      tokens_.diagnostics().add(between(begin, name.at), "a second `codec` block", "a file holds one codec");
    }
    tree_.codec = {name.text, name.at};
    tokens_.expect("{", "behind the codec's name");
    while (!tokens_.take_if("}")) read_property();
  }

  void read_property() {
    const Token& name = tokens_.expect(Token::Kind::kName, "a declaration like `summary \"...\";`");
    Property property{{name.text, name.at}, {}, name.at, {}};
    if (!tokens_.now().is(";")) {
      if (tokens_.now().kind == Token::Kind::kSign) tokens_.refuse("expected a text, a word or a number");
      const Token& value = tokens_.take();
      property.value = value.text;
      property.value_at = value.at;
      if (tokens_.now().kind == Token::Kind::kName) {
        const Token& second = tokens_.take();
        property.second = {second.text, second.at};
      }
    }
    tokens_.expect(";", "behind `" + std::string(name.text) + "`");
    tree_.properties.push_back(property);
  }

  void read_parameters() {
    ParameterList parameters;
    const Span begin = tokens_.take().at;
    if (tokens_.now().kind == Token::Kind::kName) {
      const Token& name = tokens_.take();
      parameters.name = {name.text, name.at};
    }
    parameters.at = between(begin, tokens_.before().at);
    tokens_.expect("{", "before the parameters");
    while (!tokens_.take_if("}")) parameters.list.push_back(read_parameter());
    tokens_.take_if(";");
    parameters.whole = between(begin, tokens_.before().at);
    if (!is_repeated(parameters.whole)) tree_.parameters.push_back(std::move(parameters));
  }

  /// Returns true if the second file of a program repeats a part of the first word by word: each of them was published
  /// as a program of its own.
  bool is_repeated(Span part) {
    const Source& source = tokens_.diagnostics().source();
    if (!source.has_several_files()) return false;
    const bool is_first_file = &source.file_at(part.begin) == &source.file_at(0);
    if (!is_first_file) return first_file_.contains(source.text(part));
    first_file_.insert(source.text(part));
    return false;
  }

  Parameter read_parameter() {
    Parameter parameter;
    parameter.variable = types_.read_variable();
    if (tokens_.take_if("=")) parameter.initial = expressions_.read_expression();
    if (tokens_.take_if("in")) read_range(parameter);
    if (tokens_.now().kind == Token::Kind::kText) parameter.meaning = tokens_.take().text;
    tokens_.expect(";", "behind a parameter", "write `uint block = 128 in 16..65536 \"what it is\";`");
    return parameter;
  }

  void read_range(Parameter& parameter) {
    if (tokens_.take_if("{")) {
      do {
        parameter.choices.push_back(expressions_.read_expression());
      } while (tokens_.take_if(","));
      tokens_.expect("}", "behind the values of a parameter");
      return;
    }
    parameter.least = expressions_.read_expression();
    tokens_.expect("..", "between the least and the most");
    parameter.most = expressions_.read_expression();
    if (tokens_.take_if("step")) parameter.step = expressions_.read_expression();
  }

  void read_state() {
    State state;
    const Span begin = tokens_.take().at;
    state.variable = types_.read_variable();
    if (tokens_.take_if("[")) {
      state.size = expressions_.read_expression();
      tokens_.expect("]", "behind the size of a state");
    }
    if (tokens_.take_if("=")) state.initial = expressions_.read_expression();
    state.at = between(begin, tokens_.before().at);
    tokens_.expect(";", "behind a state");
    tree_.states.push_back(std::move(state));
  }

  void read_function_or_global() {
    const bool function = tokens_.now().is("(") || is_function_ahead();
    if (!function) {
      StatementPtr global = statements_.read_statement();
      if (!is_repeated(global->at)) tree_.globals.push_back(std::move(*global));
      return;
    }
    Function read;
    const Span begin = tokens_.now().at;
    read.results = types_.read_results();
    const Token& name = tokens_.expect(Token::Kind::kName, "the function's name");
    read.name = {name.text, name.at};
    read.parameters = types_.read_variables("`" + std::string(name.text) + "`");
    read.at = between(begin, tokens_.before().at);
    read.body = statements_.read_block("`" + std::string(name.text) + "`");
    read.whole = between(begin, tokens_.before().at);
    if (!is_repeated(read.whole)) tree_.functions.push_back(std::move(read));
  }

  // TYPE NAME ( -- the type may be `uint<bits>` or an array. The width may have parentheses of its own.
  bool is_function_ahead() const {
    bool in_width = false;
    for (std::size_t i = 1, open = 0; i < 64; ++i) {
      const Token& token = tokens_.ahead(i);
      if (token.is(";") || token.is("=") || token.is("{") || token.kind == Token::Kind::kEnd) return false;
      if (open == 0 && (token.is("<") || token.is(">"))) in_width = token.is("<");
      if (token.is("(") && !in_width) return tokens_.ahead(i - 1).kind == Token::Kind::kName;
      if (token.is("(")) ++open;
      if (token.is(")") && open != 0) --open;
    }
    return false;
  }

  TokenReader tokens_;
  std::unordered_set<std::string_view> first_file_;  ///< its blocks of parameters, variables and functions
  StatementParser statements_{tokens_};
  ExpressionParser& expressions_ = statements_.expressions();
  TypeParser& types_ = expressions_.types();
  Tree tree_;
};

}  // namespace

Tree parse(const Tokens& tokens, Diagnostics& diagnostics) { return FileParser(tokens, diagnostics).run(); }

}  // namespace casync::compll
