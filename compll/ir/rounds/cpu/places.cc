// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/rounds/cpu/places.h"

#include "compll/lang/terms.h"

namespace casync::compll::cpu_turns {
namespace {

/// The variable that this one is another name of.
VariableId made_as(const Turn& plan, VariableId id) {
  for (const Step* step : plan.plan().steps) {
    if (step->variables.front() == id && step->value->op == Op::kVariable) return made_as(plan, step->value->variable);
  }
  return id;
}

/// Calls visit(variable, place) for each value that the turn keeps: for later turns, and in the last one for states.
template <class Visit>
void for_each_kept(const Turn& plan, const Visit& visit) {
  for (std::size_t i = 0; i < plan.rounds.stored.size(); ++i) {
    if (plan.rounds.stored_in[i] == plan.number) visit(plan.rounds.stored[i], Place{Place::Kind::kScratch, i});
  }
  if (!plan.is_last()) return;
  const std::vector<VariableId>& states = plan.program->synchronize->states_then;
  for (std::size_t i = 0; i < states.size(); ++i) visit(states[i], Place{Place::Kind::kStateOut, i});
}

}  // namespace

void count_uses(Turn& plan) {
  plan.uses.assign(plan.program->variables.size(), 0);
  const auto count = [&](const Term& term) {
    for_each_term(term, [&](const Term& each) {
      if (each.op == Op::kVariable) ++plan.uses[each.variable];
    });
  };
  count(*plan.plan().given);
  for (const Step* step : plan.plan().steps) count(*step->value);
  for_each_kept(plan, [&](VariableId id, Place) { ++plan.uses[id]; });
}

void choose_places(Turn& plan) {
  // The first place that wants a variable has it; the others have copies.
  const auto want = [&](VariableId id, Place place) { plan.wanted_at.emplace(made_as(plan, id), place); };
  const Term& given = *plan.plan().given;
  for_each_kept(plan, want);
  if (!plan.is_last() && given.op == Op::kVariable) want(given.variable, {Place::Kind::kExchanged, plan.number});
}

}  // namespace casync::compll::cpu_turns
