// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/vector_values.h"

#include "compll/codegen/cpu/vector_names.h"
#include "compll/codegen/text/operation_text.h"

namespace casync::compll {

std::string VectorValues::element(cpu_vector::Id id) const { return type_text(type(id).element); }
std::string VectorValues::size(cpu_vector::Id id) const { return VectorNames::size(type(id)); }

std::string VectorValues::values_of(const std::optional<cpu_vector::Id>& values, const Term& scatter) {
  return values ? name(*values) : "[&](size_t) HWY_ATTR { return " + expression(*scatter.arguments[1]) + "; }";
}

/// Wraps a value that is the same for all elements, in a function of one.
std::string VectorValues::leaf(const Term& term, const std::string& text) const {
  return of_elements_ && !term.type().is_array() ? "constant(i, " + text + ")" : text;
}

std::string VectorValues::name_of_variable(VariableId id) const {
  return plan_.program->variables[id].name + "_" + std::to_string(id);
}

std::string VectorValues::expression(const Term& term) {
  if (const auto found = plan_.of_term.find(&term); found != plan_.of_term.end()) return name(found->second);
  const std::string type_of_term = type_text(term.type().element);
  switch (term.op) {
    case Op::kConstant: return leaf(term, literal_text(term.type().element, term.number));
    case Op::kVariable: {
      const auto found = plan_.of_variable.find(term.variable);
      return found == plan_.of_variable.end() ? local_.at(term.variable) : leaf(term, name(found->second));
    }
    case Op::kParameter:
      return leaf(term, "static_cast<" + type_of_term + ">(" + VectorNames::in_parameters(term.parameter) + ")");
    case Op::kSize:
      return leaf(term, "static_cast<uint32_t>(" + VectorNames::size(term.arguments.front()->type()) + ")");
    case Op::kRandomBits: return "random" + std::to_string(term.purpose) + "(i)";
    case Op::kRandomUniform: return "uniform_from(random" + std::to_string(term.purpose) + "(i))";
    case Op::kElement: {
      const Term &of = *term.arguments[0], &index = *term.arguments[1];
      const auto copy = plan_.reads_copy.find(&term);
      const std::string from = copy == plan_.reads_copy.end()
                                   ? expression(of)
                                   : "Array<" + type_text(of.type().element) + ">{" + name(copy->second) + "_at}";
      const bool is_int = of_elements_ && index.type().element.kind == ScalarType::Kind::kInt;
      return "element(" + VectorNames::size(of.type()) + ", " + from + ", " + (is_int ? "as_uint(" : "") +
             expression(index) + (is_int ? "))" : ")");
    }
    case Op::kConvert:
      return conversion_text(term.arguments[0]->type().element, term.type().element, expression(*term.arguments[0]));
    default: break;
  }
  const bool shifts = term.op == Op::kShiftLeft || term.op == Op::kShiftRight;
  if (of_elements_ && shifts && term.arguments[1]->op == Op::kConstant) {
    const auto count = static_cast<std::uint32_t>(static_cast<std::int64_t>(term.arguments[1]->number)) & 31;
    return std::string(name_of(term.op)) + "<" + std::to_string(count) + ">(" + expression(*term.arguments[0]) + ")";
  }
  std::vector<std::string> operands;
  for (const TermPtr& argument : term.arguments) operands.push_back(expression(*argument));
  return operation_text(term.op, term.arguments.back()->type().element, operands);
}

/// Defines a variable of the function that is written.
void VectorValues::define(VariableId id, const std::string& value) {
  if (plan_.uses[id] == 0) return;
  std::string& name = local_[id];
  name = value;
  if (value.find_first_of("( ") == value.npos) return;
  name = name_of_variable(id);
  const std::string type = of_elements_ ? "auto" : type_text(plan_.program->variables[id].type.element);
  out_.line("const " + type + " " + name + " = " + value + ";");
}

void VectorValues::write_body(const Body& body, const std::vector<std::string>& arguments, bool sixteen) {
  const bool around = of_elements_;
  of_elements_ = sixteen;
  for (std::size_t i = 0; i < arguments.size(); ++i) define(body.parameters[i], arguments[i]);
  for (const Step& step : body.steps) {
    if (plan_.uses[step.variables.front()] == 0) continue;
    out_.source_line(step.value->at);
    define(step.variables.front(), expression(*step.value));
  }
  std::string values;
  for (const TermPtr& each : body.results) values += (values.empty() ? "" : ", ") + expression(*each);
  if (body.results.size() > 1) values = "row(" + values + ")";
  out_.line("return " + values + ";");
  of_elements_ = around;
}

std::string VectorValues::reduction(const Term& term, const std::string& count, const std::string& from,
                                    const std::optional<cpu_vector::Id>& function) {
  return reduction_text(term, count, from, [&] { return expression(*term.arguments[1]) + ", " + name(*function); });
}

std::string group_reducer(const Term& term) {
  const ScalarType element = term.arguments.front()->type().element;
  const std::string group = element.kind == ScalarType::Kind::kFloat ? "Float, float"
                            : element.kind == ScalarType::Kind::kInt ? "Int, int32_t"
                                                                     : "Uint, uint32_t";
  switch (term.reducer) {
    case Reducer::kMagnitude: return "Magnitude";
    case Reducer::kCount: return "Count";
    case Reducer::kSum: return element.is_float() ? "Sum" : "IntegerSum<" + group + ">";
    case Reducer::kMin: return "Minimum<" + group + ">";
    case Reducer::kMax: return "Maximum<" + group + ">";
    case Reducer::kUser: break;
  }
  return "";
}

}  // namespace casync::compll
