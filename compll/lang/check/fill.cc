// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/check/fill.h"

#include <cmath>
#include <map>

namespace casync::compll {
namespace {

/// Computes terms of which some variables are known.
class KnownTerms {
 public:
  void set(VariableId id, const Fill& value) {
    if (value) values_[id] = *value;
  }

  Fill value(const Term& term) const {
    switch (term.op) {
      case Op::kConstant: return Scalar::of(term.type().element, term.number);
      case Op::kVariable: return variable(term.variable);
      case Op::kConvert: return conversion(term);
      case Op::kSelect: return choice(term);
      case Op::kElement: return element(*term.arguments[1]);
      default: return is_scalar(term.op) ? computation(term) : Fill();
    }
  }

 private:
  Fill variable(VariableId id) const {
    const auto found = values_.find(id);
    return found == values_.end() ? Fill() : Fill(found->second);
  }

  Fill conversion(const Term& term) const {
    const Fill from = value(*term.arguments.front());
    if (!from) return {};
    return converted(*from, term.arguments.front()->type().element, term.type().element);
  }

  /// A condition that nobody knows does not matter between two values that are the same.
  Fill choice(const Term& term) const {
    const Fill holds = value(*term.arguments[0]);
    if (holds) return value(*term.arguments[holds->as_bool() ? 1 : 2]);
    const Fill yes = value(*term.arguments[1]), no = value(*term.arguments[2]);
    return yes && no && *yes == *no ? yes : Fill();
  }

  Fill element(const Term& index) const {
    const Fill place = value(index);
    return place && is_nowhere(*place, index.type().element) ? Fill(Scalar()) : Fill();
  }

  Fill computation(const Term& term) const {
    std::vector<Scalar> operands;
    for (const TermPtr& argument : term.arguments) {
      const Fill operand = value(*argument);
      if (!operand) return {};
      operands.push_back(*operand);
    }
    return computed(term.op, term.arguments.front()->type().element, operands);
  }

  std::map<VariableId, Scalar> values_;
};

}  // namespace

std::vector<Fill> fills_of(const Body& body, const std::vector<Fill>& arguments) {
  KnownTerms known;
  for (std::size_t i = 0; i < arguments.size(); ++i) known.set(body.parameters[i], arguments[i]);
  for (const Step& step : body.steps) {
    if (step.variables.size() == 1) known.set(step.variables.front(), known.value(*step.value));
  }
  std::vector<Fill> fills;
  for (const TermPtr& result : body.results) {
    const ScalarType type = result->type().element;
    const Fill fill = known.value(*result);
    // The bits of a NaN are not the same everywhere.
    fills.push_back(fill && type.is_float() && std::isnan(fill->as_number(type)) ? Fill() : fill);
  }
  return fills;
}

bool is_nowhere(Scalar place, ScalarType type) { return type.is_integer() && type.bits == 32 && place.as_int() < 0; }

}  // namespace casync::compll
