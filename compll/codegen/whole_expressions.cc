// SPDX-License-Identifier: Apache-2.0
//
// The values of a routine: expressions, whose names serve one element and sixteen.
#include "compll/codegen/operation_text.h"
#include "compll/codegen/routine_text.h"
#include "compll/codegen/whole_routine.h"

namespace casync::compll {

std::string WholeRoutine::values(const Term& scatter) {
  const Term& values = *scatter.arguments[1];
  if (values.type().is_array()) return whole_array(values);
  return "[&](size_t) HWY_ATTR { return " + scalar(values) + "; }";
}

/// Names the reductions in a value, which are loops of their own.
void WholeRoutine::hoist(const Term& term) {
  if (term.op == Op::kSize) return;
  if (term.op == Op::kElement) {
    hoisted_[term.arguments[0].get()] = whole_array(*term.arguments[0]);
    return hoist(*term.arguments[1]);
  }
  for (const TermPtr& argument : term.arguments) {
    if (!argument->type().is_array()) hoist(*argument);
  }
  if (term.op == Op::kReduce) hoisted_[&term] = tensor_reduction(term, array(*term.arguments[0]));
  if (term.op == Op::kKthLargest) define_largest(hoisted_[&term] = temporary("kth_largest"), term, {});
}

std::string WholeRoutine::scalar(const Term& term) {
  hoist(term);
  return expression(term);
}

/// Wraps a value that is the same for all elements, in a function of one.
std::string WholeRoutine::leaf(const Term& term, const std::string& text) const {
  return of_elements_ && !term.type().is_array() ? "constant(i, " + text + ")" : text;
}

std::string WholeRoutine::expression(const Term& term) {
  if (const auto found = hoisted_.find(&term); found != hoisted_.end()) return found->second;
  switch (term.op) {
    case Op::kConstant: return leaf(term, literal_text(term.type().element, term.number));
    case Op::kVariable: return local_.count(term.variable) != 0 ? name(term.variable) : leaf(term, name(term.variable));
    case Op::kParameter:
      return leaf(term, "static_cast<" + type_text(term.type().element) + ">(" + in_parameters(term.parameter) + ")");
    case Op::kSize: return leaf(term, "static_cast<uint32_t>(" + size(term.arguments.front()->type()) + ")");
    case Op::kRandomBits: return "random" + std::to_string(term.purpose) + "(i)";
    case Op::kRandomUniform: return "uniform_from(random" + std::to_string(term.purpose) + "(i))";
    case Op::kElement: {
      const Term& of = *term.arguments[0];
      const auto copy = of.op == Op::kVariable ? picked_from_.find(of.variable) : picked_from_.end();
      const std::string from = copy == picked_from_.end()
                                   ? expression(of)
                                   : "Array<" + type_text(of.type().element) + ">{" + copy->second + "}";
      const Term& index = *term.arguments[1];
      const bool is_int = of_elements_ && index.type().element.kind == ScalarType::Kind::kInt;
      return "element(" + size(of.type()) + ", " + from + ", " + (is_int ? "as_uint(" : "") + expression(index) +
             (is_int ? "))" : ")");
    }
    case Op::kConvert:
      return conversion_text(term.arguments[0]->type().element, term.type().element, expression(*term.arguments[0]));
    default: break;
  }
  if (!is_scalar(term.op)) refuse(term.at, "`" + std::string(name_of(term.op)) + "` here");
  const ScalarType type = term.arguments.back()->type().element;
  std::vector<std::string> operands;
  const bool shifts = term.op == Op::kShiftLeft || term.op == Op::kShiftRight;
  if (of_elements_ && shifts && term.arguments[1]->op == Op::kConstant) {
    const auto count = static_cast<std::uint32_t>(static_cast<std::int64_t>(term.arguments[1]->number)) & 31;
    return std::string(term.op == Op::kShiftLeft ? "shift_left<" : "shift_right<") + std::to_string(count) + ">(" +
           expression(*term.arguments[0]) + ")";
  }
  for (const TermPtr& argument : term.arguments) operands.push_back(expression(*argument));
  return operation_text(term.op, type, operands);
}

}  // namespace casync::compll
