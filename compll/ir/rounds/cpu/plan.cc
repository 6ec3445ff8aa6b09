// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/rounds/cpu/plan.h"

#include "compll/ir/cannot_plan.h"
#include "compll/ir/rounds/cpu/places.h"
#include "compll/ir/rounds/cpu/steps.h"
#include "compll/ir/rounds/cpu/storage.h"

namespace casync::compll::cpu_turns {

std::string name_of(const Value& value) {
  return value.word + (value.is_temporary ? "_t" : "_") + std::to_string(value.number);
}

const std::vector<Pass>& passes() {
  static const std::vector<Pass> all = {
      {"count uses", &count_uses},
      {"choose places", &choose_places},    // of values that later turns, exchanges and states want
      {"choose storage", &choose_storage},  // by uses, places and products
      {"plan inputs", &plan_inputs},
      {"plan steps", &plan_steps},  // refuses what the CPU does not have
      {"plan results", &plan_results},
  };
  return all;
}

Turn turn_of(const Program& program, const RoundsPlan& rounds, std::size_t number) {
  Turn plan;
  plan.program = &program;
  plan.rounds = rounds;
  plan.number = number;
  return plan;
}

Result<Plan> plan_turns(const Program& program, const Source& source) {
  if (!program.synchronize) return unimplemented(source.name() + ": exchanges nothing");
  Plan plan;
  plan.program = &program;
  plan.rounds = plan_rounds(program);
  try {
    for (std::size_t number = 0; number < plan.rounds.turns.size(); ++number) {
      plan.turns.push_back(turn_of(program, plan.rounds, number));
      for (const Pass& pass : passes()) pass.run(plan.turns.back());
    }
    return plan;
  } catch (const CannotPlan& refusal) {
    return status_of(refusal, source, "for the CPU, only interpreted");
  }
}

std::vector<FunctionLoops> loops_of(const Plan& plan) {
  std::vector<FunctionLoops> all;
  for (const Turn& turn : plan.turns) all.push_back({"turn " + std::to_string(turn.number), turn.loops});
  return all;
}

}  // namespace casync::compll::cpu_turns
