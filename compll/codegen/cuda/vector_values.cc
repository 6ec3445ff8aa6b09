// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/vector_values.h"

#include <map>
#include <set>

#include "base/check.h"
#include "compll/codegen/cuda/terms.h"
#include "compll/codegen/cuda/vector_names.h"
#include "compll/codegen/cuda/vector_routine.h"
#include "compll/codegen/text/operation_text.h"
#include "compll/lang/terms.h"

namespace casync::compll {

void CudaValues::write_function(std::size_t number) {
  const Term& term = *text_.plan.functions[number];
  const std::string type = type_text(text_.program.variables[term.function->parameters[0]].type.element);
  text_.out.open("struct " + name_of_function(number));
  text_.out.open("COMPLL_BOTH " + type + " operator()([[maybe_unused]] " + type + " a, [[maybe_unused]] " + type +
                 " b) const");
  write_body(*term.function, {"a", "b"}, 0);
  text_.out.close();
  text_.out.close(";");
  text_.out.forget_line();
}

std::string CudaValues::scalar(const Term& term) {
  prepare(term);
  return expression(term);
}

void CudaValues::prepare(const Term& term) {
  std::vector<cuda_vector::Id> ids;
  add_needs(term, ids);
  define(ids);
}

void CudaValues::prepare(const Body& body) {
  std::vector<cuda_vector::Id> ids;
  add_needs(body, ids);
  define(ids);
}

void CudaValues::define(const std::vector<cuda_vector::Id>& ids) {
  for (const cuda_vector::Id id : ids) text_.definitions.name(id);
}

void CudaValues::add_needs(const Term& term, std::vector<cuda_vector::Id>& ids) const {
  if (term.op == Op::kSize) return;
  if (term.op == Op::kVariable || reduces_array(term)) return add_array(term, ids);
  for (const TermPtr& argument : term.arguments) {
    argument->type().is_array() ? add_array(*argument, ids) : add_needs(*argument, ids);
  }
}

void CudaValues::add_needs(const Body& body, std::vector<cuda_vector::Id>& ids) const {
  for (const Step& step : body.steps) add_needs(*step.value, ids);
  for (const TermPtr& result : body.results) add_needs(*result, ids);
}

/// Adds an array, a reduction, or a variable, unless it is a function's own.
void CudaValues::add_array(const Term& array, std::vector<cuda_vector::Id>& ids) const {
  if (array.op != Op::kVariable) return ids.push_back(text_.plan.of_term.at(&array));
  const auto found = text_.plan.of_variable.find(array.variable);
  if (found != text_.plan.of_variable.end()) ids.push_back(found->second);
}

void CudaValues::define_in_body(VariableId id, const std::string& value) {
  if (text_.plan.uses[id] == 0) return;
  if (value.find_first_of("( ") == value.npos) {
    text_.definitions.names_in_body()[id] = value;
    return;
  }
  const std::string name = text_.program.variables[id].name + "_" + std::to_string(id);
  text_.out.line("const " + type_text(text_.program.variables[id].type.element) + " " + name + " = " + value + ";");
  text_.definitions.names_in_body()[id] = name;
}

void CudaValues::write_body(const Body& body, const std::vector<std::string>& arguments, std::size_t result) {
  std::map<VariableId, std::string>& in_body = text_.definitions.names_in_body();
  const std::map<VariableId, std::string> outside = in_body;
  // Leaves out steps that only other results need.
  std::set<VariableId> needed;
  const auto need = [&](const Term& term) {
    for_each_term(term, [&](const Term& each) {
      if (each.op == Op::kVariable) needed.insert(each.variable);
    });
  };
  need(*body.results[result]);
  for (std::size_t i = body.steps.size(); i-- > 0;) {
    if (needed.count(body.steps[i].variables.front()) != 0) need(*body.steps[i].value);
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (needed.count(body.parameters[i]) != 0) define_in_body(body.parameters[i], arguments[i]);
  }
  for (const Step& step : body.steps) {
    if (needed.count(step.variables.front()) == 0) continue;
    const std::string value = expression(*step.value);
    if (value.find_first_of("( ") != value.npos) text_.out.source_line(step.value->at);
    define_in_body(step.variables.front(), value);
  }
  text_.out.line("return " + expression(*body.results[result]) + ";");
  in_body = outside;
}

std::string CudaValues::expression(const Term& term) {
  switch (term.op) {
    case Op::kConstant: return cuda_literal(term.type().element, term.number);
    case Op::kVariable: return text_.definitions.name_of_variable(term.variable);
    case Op::kReduce:
    case Op::kKthLargest: return text_.definitions.name_of(term);
    case Op::kParameter:
      return "static_cast<" + type_text(term.type().element) + ">(" + CudaNames::parameter(term.parameter) + ")";
    case Op::kSize: return "static_cast<uint32_t>(" + CudaNames::size(term.arguments.front()->type()) + ")";
    case Op::kRows: return "static_cast<uint32_t>(n.rows)";
    case Op::kColumns: return "static_cast<uint32_t>(n.columns)";
    case Op::kRandomBits: return "random_bits(random, i, " + std::to_string(term.purpose) + ")";
    case Op::kRandomUniform: return "uniform(random_bits(random, i, " + std::to_string(term.purpose) + "))";
    case Op::kElement: {
      const Term& of = *term.arguments[0];
      return "element(" + CudaNames::size(of.type()) + ", " + text_.definitions.name_of(of) + ", " +
             cuda_conversion(term.arguments[1]->type().element, term.arguments[1]->type().element,
                             expression(*term.arguments[1])) +
             ")";
    }
    case Op::kConvert:
      return cuda_conversion(term.arguments[0]->type().element, term.type().element, expression(*term.arguments[0]));
    default: break;
  }
  CASYNC_CHECK(is_scalar(term.op));
  std::vector<std::string> operands;
  for (const TermPtr& argument : term.arguments) operands.push_back(expression(*argument));
  return cuda_operation(term.op, term.arguments.back()->type().element, operands);
}

void CudaValues::write_functions() {
  for (std::size_t i = 0; i < text_.plan.functions.size(); ++i) {
    write_function(i);
    text_.out.line("");
  }
}

}  // namespace casync::compll
