// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/rounds_values.h"

#include "compll/codegen/cpu/rounds_names.h"
#include "compll/codegen/text/operation_text.h"

namespace casync::compll {

/// The name of a variable, which is that of its value, or of a variable of the function that is written.
std::string RoundsValues::name_of_variable(VariableId id) const {
  const auto found = plan_.of_variable.find(id);
  return found == plan_.of_variable.end() ? plan_.program->variables[id].name + "_" + std::to_string(id)
                                          : name(found->second);
}

void RoundsValues::define(VariableId id, const std::string& value) const {
  out_.line("[[maybe_unused]] const " + type_text(plan_.program->variables[id].type.element) + " " +
            name_of_variable(id) + " = " + value + ";");
}

void RoundsValues::write_body(const Body& body, const std::vector<std::string>& arguments) const {
  for (std::size_t i = 0; i < arguments.size(); ++i) define(body.parameters[i], arguments[i]);
  for (const Step& step : body.steps) {
    out_.source_line(step.value->at);
    define(step.variables.front(), expression(*step.value));
  }
  out_.line("return " + expression(*body.results.front()) + ";");
}

std::string RoundsValues::reduction(const Term& term, const std::string& count, const std::string& from,
                                    const std::optional<cpu_turns::Id>& function) const {
  return reduction_text(term, count, from, [&] { return expression(*term.arguments[1]) + ", " + name(*function); });
}

std::string RoundsValues::expression(const Term& term) const {
  if (const auto found = plan_.of_term.find(&term); found != plan_.of_term.end()) return name(found->second);
  const std::string type = type_text(term.type().element);
  const auto random = [&] { return "random_bits(v.random, i, " + std::to_string(term.purpose) + ")"; };
  switch (term.op) {
    case Op::kConstant: return literal_text(term.type().element, term.number);
    case Op::kVariable: return name_of_variable(term.variable);
    case Op::kParameter: return "static_cast<" + type + ">(v.parameters[" + std::to_string(term.parameter) + "])";
    case Op::kRows: return "static_cast<uint32_t>(v.rows)";
    case Op::kColumns: return "static_cast<uint32_t>(v.columns)";
    case Op::kSize: return "static_cast<uint32_t>(" + RoundsNames::size(term.arguments.front()->type()) + ")";
    case Op::kRandomBits: return random();
    case Op::kRandomUniform: return "uniform_from(" + random() + ")";
    case Op::kElement:
      return "picked(" + RoundsNames::size(term.arguments[0]->type()) + ", " + expression(*term.arguments[0]) +
             ", static_cast<uint32_t>(" + expression(*term.arguments[1]) + "))";
    case Op::kConvert:
      return conversion_text(term.arguments[0]->type().element, term.type().element, expression(*term.arguments[0]));
    case Op::kSelect:  // evaluates only the chosen one: random numbers are expensive
      return "(" + expression(*term.arguments[0]) + " ? " + expression(*term.arguments[1]) + " : " +
             expression(*term.arguments[2]) + ")";
    default: break;
  }
  std::vector<std::string> operands;
  for (const TermPtr& argument : term.arguments) operands.push_back(expression(*argument));
  return operation_text(term.op, term.arguments.back()->type().element, operands);
}

}  // namespace casync::compll
