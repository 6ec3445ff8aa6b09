// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/cuda/plan.h"

#include "compll/ir/cannot_plan.h"
#include "compll/ir/vector/cuda/places.h"
#include "compll/ir/vector/cuda/results.h"
#include "compll/ir/vector/cuda/stages.h"
#include "compll/ir/vector/cuda/steps.h"
#include "compll/ir/vector/cuda/storage.h"
#include "compll/ir/vector/cuda/uses.h"
#include "compll/ops/cuda/launch.h"

namespace casync::compll::cuda_vector {
namespace {

Status check_parameters(const Program& program, const Source& source) {
  if (program.parameters.size() < cuda::kMostParameters) return Status::ok();
  return unimplemented(source.name() + ": more than " + std::to_string(cuda::kMostParameters - 1) +
                       " parameters cannot be compiled for CUDA");
}

Routine planned(Routine plan) {
  for (const Pass& pass : passes()) pass.run(plan);
  return plan;
}

}  // namespace

bool Value::is_computed() const {
  return std::holds_alternative<Map>(definition) || std::holds_alternative<Range>(definition) ||
         std::holds_alternative<Spread>(definition) || std::holds_alternative<OuterProduct>(definition);
}

const std::vector<Pass>& passes() {
  static const std::vector<Pass> all = {
      {"count uses", &count_uses},         {"find conditions", &find_conditions},  // of reductions
      {"choose places", &choose_places},    // arrays that are wanted somewhere, or changed where they lie
      {"choose storage", &choose_storage},  // by uses, places and the cost of an element
      {"plan steps", &plan_steps},          // refuses what CUDA does not have
      {"plan results", &plan_results},      // after all steps
      {"join searches", &join_searches},    // those that do the same in one stage
      {"divide stages", &divide_stages},    // the works that go through a tile in pieces
  };
  return all;
}

Routine routine_of(const Program& program, const std::string& name) {
  Routine plan;
  plan.program = &program;
  plan.name = name;
  plan.routine = name == "encode"   ? &program.encode
                 : name == "merge"  ? &*program.merge
                 : name == "decode" ? &program.decode
                                    : &*program.result;
  if (name == "decode") plan.role = Role::kDecode;
  if (name == "result") plan.role = Role::kResult;
  for (const compll::Step& step : plan.routine->steps) plan.steps.push_back(&step);
  return plan;
}

Routine turn_of(const Program& program, const RoundsPlan& rounds, std::size_t turn) {
  Routine plan;
  plan.program = &program;
  plan.routine = &*program.synchronize;
  plan.steps = rounds.turns[turn].steps;
  plan.name = "turn " + std::to_string(turn);
  plan.role = Role::kTurn;
  plan.rounds = rounds;
  plan.turn = turn;
  return plan;
}

Result<Plan> plan_vector(const Program& program, const Source& source) {
  CASYNC_RETURN_IF_ERROR(check_parameters(program, source));
  if (program.synchronize) return unimplemented(source.name() + ": `synchronize` is compiled by turns");
  try {
    Plan plan;
    plan.program = &program;
    plan.encode = planned(routine_of(program, "encode"));
    if (program.merge) plan.merge = planned(routine_of(program, "merge"));
    plan.decode = planned(routine_of(program, "decode"));
    if (program.result) plan.result = planned(routine_of(program, "result"));
    return plan;
  } catch (const CannotPlan& refusal) {
    return status_of(refusal, source, "for CUDA, only interpreted");
  }
}

Result<Turns> plan_turns(const Program& program, const Source& source) {
  if (!program.synchronize) return unimplemented(source.name() + ": exchanges nothing");
  CASYNC_RETURN_IF_ERROR(check_parameters(program, source));
  Turns plan;
  plan.program = &program;
  plan.rounds = plan_rounds(program);
  try {
    for (std::size_t turn = 0; turn < plan.rounds.turns.size(); ++turn) {
      plan.turns.push_back(planned(turn_of(program, plan.rounds, turn)));
    }
    return plan;
  } catch (const CannotPlan& refusal) {
    return status_of(refusal, source, "for CUDA, only interpreted");
  }
}

std::vector<const Routine*> routines_of(const Plan& plan) {
  std::vector<const Routine*> all = {&plan.encode};
  if (plan.merge) all.push_back(&*plan.merge);
  all.push_back(&plan.decode);
  if (plan.result) all.push_back(&*plan.result);
  return all;
}

std::vector<const Routine*> routines_of(const Turns& plan) {
  std::vector<const Routine*> all;
  for (const Routine& turn : plan.turns) all.push_back(&turn);
  return all;
}

}  // namespace casync::compll::cuda_vector
