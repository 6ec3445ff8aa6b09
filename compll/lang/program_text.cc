// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <charconv>
#include <cmath>

#include "compll/lang/program.h"

namespace casync::compll {
namespace {

constexpr std::array<std::string_view, 3> kFormNames = {"of_rows", "of_columns", "outer"};
constexpr std::array<std::string_view, 3> kExchangeNames = {"", "max", "elias"};
constexpr std::array<std::string_view, 6> kReducerNames = {"sum", "min", "max", "magnitude", "count", "user"};

std::string number(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}

/// Terms in brackets, the operation first; variables with their number, because each is given its value once.
class ProgramWriter {
 public:
  explicit ProgramWriter(const Program& program) : program_(program) {}

  std::string run() {
    const Declarations& declares = program_.declares;
    line("codec " + declares.name + (declares.contractive ? " contractive" : "") +
         (declares.unbiased ? " unbiased" : "") + (declares.feedback ? " feedback" : "") +
         (declares.feedback_offered ? " feedback off" : "") +
         (std::isinf(declares.overflow) ? "" : " overflow " + number(declares.overflow)));
    for (const ProgramParameter& parameter : program_.parameters) {
      line("parameter " + text_of(parameter.type) + " " + parameter.name + " = " + number(parameter.initial));
    }
    if (program_.synchronize) {
      write_synchronize(*program_.synchronize);
      return std::move(text_);
    }
    for (const Section& section : program_.sections) {
      const std::string word(word_of(section.coding));
      line("section " + sized(section.type) + " " + section.name + (word.empty() ? "" : " " + word));
    }
    line("encode " + name(program_.encode.gradient));
    write(program_.encode.steps);
    for (const TermPtr& section : program_.encode.sections) line("  send " + text(*section));
    std::string extracted;
    for (const VariableId id : program_.decode.extracted) extracted += " " + name(id);
    line("decode" + extracted);
    write(program_.decode.steps);
    if (program_.decode.result) line("  give " + text(*program_.decode.result));
    return std::move(text_);
  }

  std::string steps_text(const std::vector<const Step*>& steps) {
    ++depth_;
    for (const Step* step : steps) write(*step);
    return std::move(text_);
  }
  std::string text(const Term& term) const {
    if (term.op == Op::kConstant) return number(term.number) + (term.type().element == kFloatType ? "r" : "");
    if (term.op == Op::kVariable) return name(term.variable);
    if (term.op == Op::kParameter) return parameter(term.parameter);
    if (term.op == Op::kRows || term.op == Op::kColumns) return std::string(name_of(term.op));
    std::string inside(name_of(term.op));
    if (term.op == Op::kConvert) inside += " " + text_of(term.type().element);
    if (term.op == Op::kReduce || term.op == Op::kBlockReduce) {
      inside += " " + std::string(name_of(term.reducer));
    }
    if (term.op == Op::kBlockReduce || term.op == Op::kSpread) {
      inside += " " + text(term.block);
    }
    if (term.op == Op::kMatmul) inside += " " + std::string(kFormNames[static_cast<std::size_t>(term.form)]);
    if (term.exchange != ExchangeKind::kSum) inside += " " + std::string(word_of(term.exchange));
    if (is_random(term.op)) inside += " " + std::to_string(term.purpose);
    for (const TermPtr& argument : term.arguments) {
      inside += " " + text(*argument);
      if (argument->function) inside += " " + text(*argument->function);
    }
    return "(" + inside + ")";
  }
  std::string name(VariableId id) const { return program_.variables[id].name + "." + std::to_string(id); }

 private:
  void write_synchronize(const Routine& routine) {
    for (const VariableId id : routine.states) line("state " + sized(program_.variables[id].type) + " " + name(id));
    line("synchronize " + name(routine.gradient));
    write(routine.steps);
    for (std::size_t i = 0; i < routine.states_then.size(); ++i) {
      line("  keep " + program_.states[i].name + " = " + name(routine.states_then[i]));
    }
    line("  give " + text(*routine.result));
  }

  void line(const std::string& what) { text_.append(2 * depth_, ' ').append(what).append("\n"); }

  std::string parameter(ParameterId id) const { return program_.parameters[id].name; }
  static std::string sized(const Type& type) {
    return text_of(type) + (type.extent ? "[" + text_of(*type.extent) + "]" : "");
  }
  std::string text(const Constant& constant) const {
    if (constant.parameter) return parameter(*constant.parameter);
    return constant.dimension ? std::string(name_of(*constant.dimension)) : std::to_string(constant.value);
  }

  void write(const std::vector<Step>& steps) {
    ++depth_;
    for (const Step& step : steps) write(step);
    --depth_;
  }
  void write(const Step& step) {
    std::string to;
    for (const VariableId id : step.variables)
      to += (to.empty() ? "" : ", ") + sized(program_.variables[id].type) + " " + name(id);
    line(to + " = " + text(*step.value));
    if (step.value->function) write(*step.value->function);
  }
  void write(const Body& body) {
    std::string to, results;
    for (const VariableId id : body.parameters) to += " " + name(id);
    for (const TermPtr& result : body.results) results += " " + text(*result);
    line("  for" + to);
    ++depth_;
    write(body.steps);
    --depth_;
    line("  give" + results);
  }

  /// A function that has no line of its own, because what it is applied to has none.
  std::string text(const Body& body) const {
    std::string inside = "{for";
    for (const VariableId id : body.parameters) inside += " " + name(id);
    for (const Step& step : body.steps) inside += "; " + name(step.variables.front()) + " = " + text(*step.value);
    inside += "; give";
    for (const TermPtr& result : body.results) inside += " " + text(*result);
    return inside + "}";
  }

  const Program& program_;
  std::string text_;
  std::size_t depth_ = 0;
};

}  // namespace

std::string_view name_of(Op op) { return operation_of(op).name; }

std::string_view name_of(Dimension dimension) {
  return name_of(dimension == Dimension::kRows ? Op::kRows : Op::kColumns);
}

std::string_view word_of(ExchangeKind kind) { return kExchangeNames[static_cast<std::size_t>(kind)]; }
std::string_view name_of(Reducer reducer) { return kReducerNames[static_cast<std::size_t>(reducer)]; }

std::string text_of(const Program& program) { return ProgramWriter(program).run(); }

std::string text_of(const Program& program, const std::vector<const Step*>& steps) {
  return ProgramWriter(program).steps_text(steps);
}

std::string text_of(const Program& program, const Term& term) { return ProgramWriter(program).text(term); }

std::string name_of(const Program& program, VariableId id) { return ProgramWriter(program).name(id); }

}  // namespace casync::compll
