// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/cpu/uses.h"

namespace casync::compll::cpu_vector {
namespace {

class Uses {
 public:
  explicit Uses(Routine& plan) : uses_(plan.uses), picks_(plan.picks) {}

  void count(const Term& term) {
    if (term.op == Op::kVariable) ++uses_[term.variable];
    if (term.op == Op::kElement && term.arguments[0]->op == Op::kVariable) ++picks_[term.arguments[0]->variable];
    for (const TermPtr& argument : term.arguments) count(*argument);
    if (term.function) count(*term.function);
  }
  /// Goes from the last step to the first: a variable without uses uses nothing.
  void count(const std::vector<Step>& steps) {
    for (std::size_t i = steps.size(); i-- > 0;) {
      std::size_t all = 0;
      for (const VariableId id : steps[i].variables) all += uses_[id];
      if (all != 0) count(*steps[i].value);
    }
  }

 private:
  void count(const Body& body) {
    for (const TermPtr& result : body.results) count(*result);
    count(body.steps);
  }

  std::vector<std::size_t>& uses_;
  std::vector<std::size_t>& picks_;
};

}  // namespace

void count_uses(Routine& plan) {
  const compll::Routine& routine = *plan.routine;
  plan.uses.assign(plan.program->variables.size(), 0);
  plan.picks.assign(plan.program->variables.size(), 0);
  Uses uses(plan);
  for (const TermPtr& section : routine.sections) uses.count(*section);
  for (const VariableId id : routine.states_then) ++plan.uses[id];
  if (routine.result) uses.count(*routine.result);
  uses.count(routine.steps);
}

std::size_t uses_of(const Routine& plan, const Step& step) {
  std::size_t all = 0;
  for (const VariableId id : step.variables) all += plan.uses[id];
  return all;
}

void find_copies(Routine& plan) {
  for (const Step& step : plan.routine->steps) {
    const Term& term = *step.value;
    if ((term.op != Op::kScatter && term.op != Op::kScatterAdd) || term.arguments.size() < 3) continue;
    const Term& into = *term.arguments[2];
    const bool is_used = plan.uses[step.variables.front()] != 0;
    if (into.op != Op::kVariable || !into.type().is_over(Extent::Kind::kElements) || !is_used) continue;
    plan.copied_by[into.variable].push_back(step.variables.front());
  }
}

}  // namespace casync::compll::cpu_vector
