// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/cuda/places.h"

#include <algorithm>
#include <set>

#include "compll/ir/vector/cuda/changed.h"
#include "compll/ir/vector/cuda/uses.h"
#include "compll/lang/terms.h"

namespace casync::compll::cuda_vector {
namespace {

/// Wants a variable at an address. It is made at the first one.
void want(Routine& plan, VariableId id, const Address& at) { plan.wanted.emplace(made_as(plan, id), at); }

void want_states(Routine& plan) {
  const std::vector<VariableId>& states = plan.routine->states_then;
  for (std::size_t i = 0; i < states.size(); ++i) want(plan, states[i], {Address::Base::kStateOut, i, kFloatType, {}});
}

void want_of_turn(Routine& plan) {
  const RoundsPlan& rounds = plan.rounds;
  for (std::size_t i = 0; i < rounds.stored.size(); ++i) {
    const ScalarType element = plan.program->variables[rounds.stored[i]].type.element;
    if (rounds.stored_in[i] == plan.turn) want(plan, rounds.stored[i], {Address::Base::kStored, i, element, {}});
  }
  const Term& given = given_by_turn(plan);
  if (is_last_turn(plan)) return want_states(plan);
  if (given.op == Op::kVariable) {
    want(plan, given.variable, {Address::Base::kExchanged, plan.turn, kFloatType, {}});
  }
}

/// Returns true if a `map` makes it and several steps read it.
bool is_made_in_memory(const Routine& plan, VariableId id) {
  return plan.uses[id] > 1 && std::any_of(plan.steps.begin(), plan.steps.end(), [&](const compll::Step* step) {
           return step->variables.size() == 1 && step->variables.front() == id && step->value->op == Op::kMap;
         });
}

/// Goes from the last step to the first: an array that is stored for its own change ends uses of earlier arrays.
void find_changed(Routine& plan) {
  std::set<VariableId> kept;
  for (auto at = plan.steps.rbegin(); at != plan.steps.rend(); ++at) {
    const compll::Step& step = **at;
    const VariableId made = step.variables.front();
    const Term& term = *step.value;
    const bool scatters = (term.op == Op::kScatter || term.op == Op::kScatterAdd) && term.arguments.size() == 3;
    if (!scatters || plan.wanted.count(made) == 0 || plan.uses[made] != 1 || !is_distinct(plan, *term.arguments[0]))
      continue;
    const Term &places = *term.arguments[0], &changed = *term.arguments[2];
    if (places.op != Op::kVariable || changed.op != Op::kVariable) continue;
    const VariableId array = made_as(plan, changed.variable);
    if (plan.wanted.count(array) != 0 || !is_made_in_memory(plan, array)) continue;
    if (!can_change(plan, {array, places.variable, &step}, kept)) continue;
    plan.wanted.emplace(array, plan.wanted.at(made));
    kept.insert(array);
    plan.changed.push_back(&step);
  }
}

}  // namespace

void choose_places(Routine& plan) {
  if (plan.role == Role::kTurn) return want_of_turn(plan);
  want_states(plan);
  if (plan.role == Role::kEncode) find_changed(plan);
}

bool is_changed(const Routine& plan, const compll::Step& step) {
  return std::find(plan.changed.begin(), plan.changed.end(), &step) != plan.changed.end();
}

}  // namespace casync::compll::cuda_vector
