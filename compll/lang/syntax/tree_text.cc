// SPDX-License-Identifier: Apache-2.0
#include <charconv>

#include "compll/lang/syntax/tree.h"

namespace casync::compll {
namespace {

std::string number(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}

/// Expressions in brackets, the sign first: (+ a (* b 2)).
struct ExpressionText {
  static std::string text(const TypeName& type) {
    return std::string(type.name.text) + (type.width ? "<" + text(*type.width) + ">" : "") + (type.array ? "*" : "");
  }
  static std::string text(const Variable& variable) {
    return text(variable.type) + " " + std::string(variable.name.text);
  }

  static std::string results(const std::vector<TypeName>& types) {
    std::string all;
    for (const TypeName& type : types) all += (all.empty() ? "" : ", ") + text(type);
    return types.size() == 1 ? all : "(" + all + ")";
  }
  static std::string variables(const std::vector<Variable>& list) {
    std::string all;
    for (const Variable& variable : list) all += (all.empty() ? "" : ", ") + text(variable);
    return "(" + all + ")";
  }
  static std::string list(const std::vector<ExpressionPtr>& expressions) {
    std::string all;
    for (const ExpressionPtr& expression : expressions) all += " " + text(*expression);
    return all;
  }

  static std::string text(const Expression& expression) {
    return std::visit([](const auto& node) { return text(node); }, expression.node);
  }
  static std::string text(const Number& node) { return number(node.value) + (node.is_real ? "r" : ""); }
  static std::string text(const Name& node) { return std::string(node.text); }
  static std::string text(const Unary& node) { return "(" + std::string(node.sign) + " " + text(*node.operand) + ")"; }
  static std::string text(const Binary& node) {
    return "(" + std::string(node.sign) + " " + text(*node.left) + " " + text(*node.right) + ")";
  }
  static std::string text(const Conditional& node) {
    return "(? " + text(*node.condition) + " " + text(*node.yes) + " " + text(*node.no) + ")";
  }
  static std::string text(const Call& node) {
    return "(call " + std::string(node.callee.text) + (node.type ? "<" + text(*node.type) + ">" : "") +
           list(node.arguments) + ")";
  }
  static std::string text(const Index& node) { return "(at " + text(*node.array) + " " + text(*node.index) + ")"; }
  static std::string text(const Member& node) {
    return "(. " + text(*node.of) + " " + std::string(node.name.text) + ")";
  }
  static std::string text(const Tuple& node) { return "(tuple" + list(node.parts) + ")"; }
  static std::string text(const Lambda& node);
};

/// Statements one a line, indented.
class TreeWriter : ExpressionText {
 public:
  std::string take() { return std::move(text_); }

  void write(const Tree& tree) {
    if (!tree.codec.text.empty()) line("codec " + std::string(tree.codec.text));
    for (const Property& property : tree.properties) {
      line("  " + std::string(property.name.text) + " " + std::string(property.value) +
           (property.second.text.empty() ? "" : " " + std::string(property.second.text)));
    }
    for (const ParameterList& parameters : tree.parameters) {
      for (const Parameter& parameter : parameters.list) write(parameter);
    }
    for (const State& state : tree.states) {
      line("state " + text(state.variable) + (state.size ? "[" + text(*state.size) + "]" : "") +
           (state.initial ? " " + text(*state.initial) : ""));
    }
    for (const Statement& global : tree.globals) write(global);
    for (const Function& function : tree.functions) {
      line("function " + results(function.results) + " " + std::string(function.name.text) +
           variables(function.parameters));
      write(function.body);
    }
  }

  void write(const Block& block) {
    ++depth_;
    for (const StatementPtr& statement : block) write(*statement);
    --depth_;
  }

 private:
  void line(const std::string& what) { text_.append(2 * depth_, ' ').append(what).append("\n"); }

  void write(const Parameter& parameter) {
    std::string said = "parameter " + text(parameter.variable);
    if (parameter.initial) said += " = " + text(*parameter.initial);
    if (parameter.least) said += " in " + text(*parameter.least) + ".." + text(*parameter.most);
    if (parameter.step) said += " step " + text(*parameter.step);
    if (!parameter.choices.empty()) said += " in {" + list(parameter.choices) + " }";
    line(said);
  }

  void write(const Statement& statement) {
    std::visit([this](const auto& node) { write_node(node); }, statement.node);
  }
  void write_node(const Declare& node) {
    std::string said = "declare";
    for (const Variable& variable : node.variables) said += " " + text(variable);
    line(said + (node.value ? " = " + text(*node.value) : ""));
  }
  void write_node(const Assign& node) {
    line(std::string(node.name.text) + " " + std::string(node.sign) + " " + text(*node.value));
  }
  void write_node(const If& node) {
    line("if " + text(*node.condition));
    write(node.yes);
    if (!node.no.empty()) line("else"), write(node.no);
  }
  void write_node(const Repeat& node) {
    line("repeat " + text(*node.times));
    write(node.body);
  }
  void write_node(const Return& node) { line("return" + (node.value ? " " + text(*node.value) : "")); }
  void write_node(const Evaluate& node) { line(text(*node.value)); }

  std::string text_;
  std::size_t depth_ = 0;
};

std::string ExpressionText::text(const Lambda& node) {
  TreeWriter body;
  body.write(node.body);
  std::string inside = body.take();
  for (char& c : inside) c = c == '\n' ? ';' : c;
  return "(function " + results(node.results) + " " + variables(node.parameters) + " {" + inside + "})";
}

}  // namespace

std::string text_of(const Tree& tree) {
  TreeWriter writer;
  writer.write(tree);
  return writer.take();
}

}  // namespace casync::compll
