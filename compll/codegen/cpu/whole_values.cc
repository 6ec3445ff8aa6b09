// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/whole_values.h"

#include "compll/codegen/cpu/whole_routine.h"
#include "compll/codegen/text/operation_text.h"

namespace casync::compll {

std::string WholeValues::values(const Term& scatter) {
  const Term& values = *scatter.arguments[1];
  if (values.type().is_array()) return text_.arrays.whole_array(values);
  return "[&](size_t) HWY_ATTR { return " + scalar(values) + "; }";
}

void WholeValues::hoist(const Term& term) {
  if (term.op == Op::kSize) return;
  if (term.op == Op::kElement) {
    hoisted_[term.arguments[0].get()] = text_.arrays.whole_array(*term.arguments[0]);
    return hoist(*term.arguments[1]);
  }
  for (const TermPtr& argument : term.arguments) {
    if (!argument->type().is_array()) hoist(*argument);
  }
  if (term.op == Op::kReduce) hoisted_[&term] = tensor_reduction(term, text_.arrays.array(*term.arguments[0]));
  if (term.op == Op::kKthLargest) {
    const std::string name = text_.names.temporary("kth_largest");
    hoisted_[&term] = name;
    text_.operators.define_largest(name, term, {});
  }
}

std::string WholeValues::scalar(const Term& term) {
  hoist(term);
  return expression(term);
}

/// Wraps a value that is the same for all elements, in a function of one.
std::string WholeValues::leaf(const Term& term, const std::string& text) const {
  return of_elements_ && !term.type().is_array() ? "constant(i, " + text + ")" : text;
}

std::string WholeValues::expression(const Term& term) {
  if (const auto found = hoisted_.find(&term); found != hoisted_.end()) return found->second;
  const WholeNames& names = text_.names;
  const std::string type_of_term = type_text(term.type().element);
  switch (term.op) {
    case Op::kConstant: return leaf(term, literal_text(term.type().element, term.number));
    case Op::kVariable: {
      const std::string name = names.name(term.variable);
      return local_.count(term.variable) != 0 ? name : leaf(term, name);
    }
    case Op::kParameter:
      return leaf(term, "static_cast<" + type_of_term + ">(" + WholeNames::in_parameters(term.parameter) + ")");
    case Op::kSize:
      return leaf(term, "static_cast<uint32_t>(" + WholeNames::size(term.arguments.front()->type()) + ")");
    case Op::kRandomBits: return "random" + std::to_string(term.purpose) + "(i)";
    case Op::kRandomUniform: return "uniform_from(random" + std::to_string(term.purpose) + "(i))";
    case Op::kElement: {
      const Term &of = *term.arguments[0], &index = *term.arguments[1];
      const std::string from = text_.places.picked_from(of, expression(of));
      const bool is_int = of_elements_ && index.type().element.kind == ScalarType::Kind::kInt;
      return "element(" + WholeNames::size(of.type()) + ", " + from + ", " + (is_int ? "as_uint(" : "") +
             expression(index) + (is_int ? "))" : ")");
    }
    case Op::kConvert:
      return conversion_text(term.arguments[0]->type().element, term.type().element, expression(*term.arguments[0]));
    default: break;
  }
  if (!is_scalar(term.op)) text_.refuse(term.at, "`" + std::string(name_of(term.op)) + "` here");
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
void WholeValues::define(VariableId id, const std::string& value) {
  if (text_.names.uses(id) == 0) return;
  local_.insert(id);
  if (value.find_first_of("( ") == value.npos) return text_.names.rename(id, value);
  const std::string type = of_elements_ ? "auto" : type_text(text_.program.variables[id].type.element);
  text_.out.line("const " + type + " " + text_.names.name(id) + " = " + value + ";");
}

void WholeValues::write_body(const Body& body, const std::vector<std::string>& arguments, bool sixteen) {
  const bool around = of_elements_;
  of_elements_ = sixteen;
  for (std::size_t i = 0; i < arguments.size(); ++i) define(body.parameters[i], arguments[i]);
  for (const Step& step : body.steps) {
    if (text_.names.uses(step.variables.front()) == 0) continue;
    text_.out.source_line(step.value->at);
    define(step.variables.front(), expression(*step.value));
  }
  std::string values;
  for (const TermPtr& each : body.results) values += (values.empty() ? "" : ", ") + expression(*each);
  if (body.results.size() > 1) values = "row(" + values + ")";
  text_.out.line("return " + values + ";");
  of_elements_ = around;
}

std::string WholeValues::function(const Term& term) {
  const Body& body = *term.function;
  const std::string to = text_.names.temporary("function");
  const std::string type = type_text(text_.program.variables[body.parameters[0]].type.element);
  const std::string result = type_text(body.results.front()->type().element);
  text_.out.open("const auto " + to + " = [&]([[maybe_unused]] " + type + " a, [[maybe_unused]] " + type +
                 " b) HWY_ATTR -> " + result);
  write_body(body, {"a", "b"});
  text_.out.close(";");
  return to;
}

std::optional<std::string> WholeValues::group_reducer(const Term& term) {
  const ScalarType element = term.arguments.front()->type().element;
  const std::string group = element.kind == ScalarType::Kind::kFloat ? "Float, float"
                            : element.kind == ScalarType::Kind::kInt ? "Int, int32_t"
                                                                     : "Uint, uint32_t";
  switch (term.reducer) {
    case Reducer::kMagnitude: return "Magnitude";
    case Reducer::kCount: return element == kDoubleType ? std::nullopt : std::optional<std::string>("Count");
    case Reducer::kSum: return element.is_float() ? "Sum" : "IntegerSum<" + group + ">";
    case Reducer::kMin:
    case Reducer::kMax:
      if (element == kDoubleType) return std::nullopt;
      return (term.reducer == Reducer::kMin ? "Minimum<" : "Maximum<") + group + ">";
    case Reducer::kUser: break;
  }
  return std::nullopt;
}

/// The name of a reduction's result, after the loop that was put off.
std::string WholeValues::tensor_reduction(const Term& term, const std::string& from) {
  Writer& out = text_.out;
  const Type& over = term.arguments.front()->type();
  const bool of_all = over.is_over(Extent::Kind::kElements);
  const std::string type = type_text(term.type().element), to = text_.names.temporary("reduced");
  const std::optional<std::string> reducer = group_reducer(term);
  if (!of_all || !reducer) {
    if (of_all) {
      text_.loops.write();
      text_.loops.note_alone("`reduce`", from, 0);
    }
    const std::string size = WholeNames::size(over);
    const std::string value =
        reducer ? "reduced<" + *reducer + ", 0>(0, " + size + ", " + from + ")" : reduction(term, size, from);
    out.line("const " + type + " " + to + " = " + value + ";");
    return to;
  }
  const bool ordered = term.reducer == Reducer::kSum && over.element.is_float();
  const std::string open = to + "_open", chunks = to + "_chunks";
  out.line(*reducer + " " + open + ";");
  if (ordered) out.line("Chunks<" + *reducer + "> " + chunks + ";");
  text_.loops.add("`reduce`",
                  ordered ? "take_in_order(" + open + ", " + chunks + ", " + from + "(i), i);"
                          : open + ".take(" + from + "(i), i.rest);",
                  from, 0);
  text_.loops.write();
  out.line("const " + type + " " + to + " = " + (ordered ? chunks + ".result(" + open + ")" : open + ".result()") +
           ";");
  return to;
}

std::string WholeValues::reduction(const Term& term, const std::string& count, const std::string& from) {
  return reduction_text(term, count, from, [&] { return expression(*term.arguments[1]) + ", " + function(term); });
}

}  // namespace casync::compll
