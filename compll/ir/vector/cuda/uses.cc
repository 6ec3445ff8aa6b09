// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/cuda/uses.h"

namespace casync::compll::cuda_vector {
namespace {

class Uses {
 public:
  explicit Uses(std::vector<std::size_t>& uses) : uses_(uses) {}

  void count(const Term& term, std::size_t times = 1) {
    if (term.op == Op::kVariable) uses_[term.variable] += times;
    for (const TermPtr& argument : term.arguments) count(*argument, times);
    if (term.function) count(*term.function);
  }
  /// Counts the uses of a step that is followed by all that use its variables. Another name hands its uses on.
  void count(const compll::Step& step) {
    std::size_t all = 0;
    for (const VariableId id : step.variables) all += uses_[id];
    if (all != 0) count(*step.value, step.value->op == Op::kVariable ? all : 1);
  }

 private:
  void count(const Body& body) {
    for (const TermPtr& result : body.results) count(*result);
    for (auto step = body.steps.rbegin(); step != body.steps.rend(); ++step) count(*step);
  }

  std::vector<std::size_t>& uses_;
};

/// The variables that are wanted after all steps, and the terms that are.
std::vector<VariableId> wanted_variables(const Routine& plan) {
  return plan.role == Role::kTurn ? kept_by_turn(plan) : plan.routine->states_then;
}
std::vector<const Term*> wanted_terms(const Routine& plan) {
  if (plan.role == Role::kTurn) return {&given_by_turn(plan)};
  std::vector<const Term*> wanted;
  for (const TermPtr& section : plan.routine->sections) wanted.push_back(section.get());
  if (plan.routine->result) wanted.push_back(plan.routine->result.get());
  return wanted;
}

}  // namespace

void count_uses(Routine& plan) {
  plan.uses.assign(plan.program->variables.size(), 0);
  Uses uses(plan.uses);
  for (const VariableId id : wanted_variables(plan)) ++plan.uses[id];
  for (const Term* term : wanted_terms(plan)) uses.count(*term);
  for (auto step = plan.steps.rbegin(); step != plan.steps.rend(); ++step) uses.count(**step);
}

std::size_t uses_of(const Routine& plan, const compll::Step& step) {
  std::size_t all = 0;
  for (const VariableId id : step.variables) all += plan.uses[id];
  return all;
}

void find_conditions(Routine& plan) {
  plan.conditions = reductions_needed_if(plan.steps, wanted_terms(plan), wanted_variables(plan));
}

VariableId made_as(const Routine& plan, VariableId id) {
  for (const compll::Step* step : plan.steps) {
    if (step->variables.front() == id && step->value->op == Op::kVariable) return made_as(plan, step->value->variable);
  }
  return id;
}

std::vector<VariableId> kept_by_turn(const Routine& plan) {
  std::vector<VariableId> kept;
  for (std::size_t i = 0; i < plan.rounds.stored.size(); ++i) {
    if (plan.rounds.stored_in[i] == plan.turn) kept.push_back(plan.rounds.stored[i]);
  }
  const std::vector<VariableId>& states = plan.routine->states_then;
  if (is_last_turn(plan)) kept.insert(kept.end(), states.begin(), states.end());
  return kept;
}

const Term& given_by_turn(const Routine& plan) { return *plan.rounds.turns[plan.turn].given; }

bool is_last_turn(const Routine& plan) { return plan.turn + 1 == plan.rounds.turns.size(); }

}  // namespace casync::compll::cuda_vector
