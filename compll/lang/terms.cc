// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/terms.h"

#include <algorithm>

#include "compll/lang/arithmetic.h"

namespace casync::compll {

TermPtr make_term(Op op, Span at, Type type, std::vector<TermPtr> arguments) {
  auto term = std::make_unique<Term>();
  term->op = op;
  term->at = at;
  term->types = {type};
  term->arguments = std::move(arguments);
  return term;
}

TermPtr make_constant(Span at, ScalarType type, double number) {
  TermPtr term = make_term(Op::kConstant, at, {type, {}});
  term->number = number;
  return term;
}

TermPtr make_variable(Span at, VariableId variable, Type type) {
  TermPtr term = make_term(Op::kVariable, at, type);
  term->variable = variable;
  return term;
}

TermPtr make_select(Span at, TermPtr condition, TermPtr yes, TermPtr no) {
  const Type type = yes->type();
  return make_term(Op::kSelect, at, type, terms(std::move(condition), std::move(yes), std::move(no)));
}

std::vector<ExchangeKind> exchanges_of(const Program& program) {
  std::vector<ExchangeKind> kinds;
  if (!program.synchronize) return kinds;
  for (const Step& step : program.synchronize->steps) {
    if (step.value->op == Op::kExchange) kinds.push_back(step.value->exchange);
  }
  return kinds;
}

bool uses_trits(const Program& program) {
  const auto is_trit = [](const auto& each) { return each.type.element == kTritType; };
  bool any = std::any_of(program.variables.begin(), program.variables.end(), is_trit) ||
             std::any_of(program.sections.begin(), program.sections.end(), is_trit);
  const auto note = [&](const Term& term) {
    any |=
        std::any_of(term.types.begin(), term.types.end(), [](const Type& type) { return type.element == kTritType; });
  };
  for_each_term(program.encode, note);
  for_each_term(program.decode, note);
  for (const auto* routine : {&program.merge, &program.result, &program.synchronize}) {
    if (*routine) for_each_term(**routine, note);
  }
  return any;
}

ScalarType common_type(ScalarType a, ScalarType b) {
  if (a == kDoubleType || b == kDoubleType) return kDoubleType;
  if (a == kFloatType || b == kFloatType) return kFloatType;
  return a == kUintType || b == kUintType ? kUintType : kIntType;
}

TermPtr convert(TermPtr term, ScalarType to) {
  const ScalarType from = term->type().element;
  if (from == to) return term;
  if (term->op == Op::kConstant) {
    return make_constant(term->at, to, converted(Scalar::of(from, term->number), from, to).as_number(to));
  }
  const Type type{to, term->type().extent};
  const Span at = term->at;
  return make_term(Op::kConvert, at, type, terms(std::move(term)));
}

}  // namespace casync::compll
