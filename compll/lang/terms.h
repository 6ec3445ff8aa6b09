// SPDX-License-Identifier: Apache-2.0
//
// Functions that make terms, with the conversions of C where two types meet.
#pragma once

#include <utility>
#include <vector>

#include "compll/lang/program.h"

namespace casync::compll {

/// Several terms where most have one: the results of a function of several.
using Terms = std::vector<TermPtr>;

TermPtr make_term(Op op, Span at, Type type, std::vector<TermPtr> arguments = {});
TermPtr make_constant(Span at, ScalarType type, double number);
TermPtr make_variable(Span at, VariableId variable, Type type);
TermPtr make_select(Span at, TermPtr condition, TermPtr yes, TermPtr no);

/// Arguments in a row; initializer lists cannot move.
template <class... Each>
std::vector<TermPtr> terms(Each... each) {
  std::vector<TermPtr> all;
  (all.push_back(std::move(each)), ...);
  return all;
}

/// The type both sides of an arithmetic sign take: double if one is, else float if one is, else uint if one is, else
/// int. Fewer bits than 32 count as int.
ScalarType common_type(ScalarType a, ScalarType b);

inline bool is_random(const Term& term) { return is_random(term.op); }

/// Returns true if a term makes one element of an array.
inline bool reduces_array(const Term& term) { return operation_of(term.op).traits.gives_one; }

/// Returns true if a program has elements that are trits.
bool uses_trits(const Program& program);

/// The kinds of a program's exchanges, in their order.
std::vector<ExchangeKind> exchanges_of(const Program& program);

/// visit(term) for every term of a body, and of the functions in it.
template <class Visit>
void for_each_term(const Body& body, const Visit& visit);
template <class Visit>
void for_each_term(const Term& term, const Visit& visit) {
  visit(term);
  for (const TermPtr& argument : term.arguments) for_each_term(*argument, visit);
  if (term.function) for_each_term(*term.function, visit);
}
template <class Visit>
void for_each_term(const Body& body, const Visit& visit) {
  for (const Step& step : body.steps) for_each_term(*step.value, visit);
  for (const TermPtr& result : body.results) for_each_term(*result, visit);
}
template <class Visit>
void for_each_term(const Routine& routine, const Visit& visit) {
  for (const Step& step : routine.steps) for_each_term(*step.value, visit);
  for (const TermPtr& section : routine.sections) for_each_term(*section, visit);
  if (routine.result) for_each_term(*routine.result, visit);
}

/// The term itself if it has the type, else its conversion. Constants are converted at once.
TermPtr convert(TermPtr term, ScalarType to);

}  // namespace casync::compll
