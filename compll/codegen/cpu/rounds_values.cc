// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/rounds_values.h"

#include "compll/codegen/cpu/rounds_routine.h"
#include "compll/codegen/text/operation_text.h"

namespace casync::compll {

void RoundsValues::write_body(const Body& body, const std::vector<std::string>& arguments) {
  const auto define_value = [&](VariableId id, const std::string& value) {
    const ProgramVariable& variable = text_.program.variables[id];
    const std::string name = text_.name(id);
    text_.out.line("[[maybe_unused]] const " + type_text(variable.type.element) + " " + name + " = " + value + ";");
    values_[id] = name;
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) define_value(body.parameters[i], arguments[i]);
  for (const Step& step : body.steps) {
    text_.out.source_line(step.value->at);
    define_value(step.variables.front(), expression(*step.value));
  }
  text_.out.line("return " + expression(*body.results.front()) + ";");
}

std::string RoundsValues::reduction(const Term& term, const std::string& count, const std::string& from) {
  return reduction_text(term, count, from, [&] { return scalar(*term.arguments[1]) + ", " + function(term); });
}

/// Names a function of two elements: its lines stand ahead of the call that takes it.
std::string RoundsValues::function(const Term& term) {
  const std::string type = type_text(term.arguments.front()->type().element);
  std::string to = text_.temporary("function");
  text_.out.open("[[maybe_unused]] const auto " + to + " = [&]([[maybe_unused]] " + type + " a, [[maybe_unused]] " +
                 type + " b) HWY_ATTR -> " + type);
  write_body(*term.function, {"a", "b"});
  text_.out.close(";");
  return to;
}

void RoundsValues::hoist(const Term& term) {
  if (term.op == Op::kSize) return;
  if (term.op == Op::kElement) {
    hoisted_[term.arguments[0].get()] = text_.arrays.settled(*term.arguments[0]).name;
    return hoist(*term.arguments[1]);
  }
  for (const TermPtr& argument : term.arguments) {
    if (!argument->type().is_array()) hoist(*argument);
  }
  if (term.op != Op::kReduce) return;
  const Term& of = *term.arguments[0];
  const RoundsArray from = text_.arrays.settled(of);
  const std::string value = reduction(term, RoundsRoutine::size(of.type()), from.name);
  const std::string to = text_.temporary("reduced");
  text_.note("`reduce`", from, of.type(), 0);
  text_.out.line("const " + type_text(term.type().element) + " " + to + " = " + value + ";");
  hoisted_[&term] = to;
}

std::string RoundsValues::scalar(const Term& term) {
  hoist(term);
  return expression(term);
}

std::string RoundsValues::expression(const Term& term) {
  if (const auto found = hoisted_.find(&term); found != hoisted_.end()) return found->second;
  const std::string type = type_text(term.type().element);
  const auto random = [&] { return "random_bits(v.random, i, " + std::to_string(term.purpose) + ")"; };
  switch (term.op) {
    case Op::kConstant: return literal_text(term.type().element, term.number);
    case Op::kVariable: return values_.at(term.variable);
    case Op::kParameter: return "static_cast<" + type + ">(v.parameters[" + std::to_string(term.parameter) + "])";
    case Op::kRows: return "static_cast<uint32_t>(v.rows)";
    case Op::kColumns: return "static_cast<uint32_t>(v.columns)";
    case Op::kSize: return "static_cast<uint32_t>(" + RoundsRoutine::size(term.arguments.front()->type()) + ")";
    case Op::kRandomBits: return random();
    case Op::kRandomUniform: return "uniform_from(" + random() + ")";
    case Op::kElement:
      return "picked(" + RoundsRoutine::size(term.arguments[0]->type()) + ", " + expression(*term.arguments[0]) +
             ", static_cast<uint32_t>(" + expression(*term.arguments[1]) + "))";
    case Op::kConvert:
      return conversion_text(term.arguments[0]->type().element, term.type().element, expression(*term.arguments[0]));
    case Op::kSelect:  // evaluates only the chosen one: random numbers are expensive
      return "(" + expression(*term.arguments[0]) + " ? " + expression(*term.arguments[1]) + " : " +
             expression(*term.arguments[2]) + ")";
    default: break;
  }
  if (!is_scalar(term.op)) text_.refuse(term.at, "`" + std::string(name_of(term.op)) + "` of this");
  std::vector<std::string> operands;
  for (const TermPtr& argument : term.arguments) operands.push_back(expression(*argument));
  return operation_text(term.op, term.arguments.back()->type().element, operands);
}

}  // namespace casync::compll
