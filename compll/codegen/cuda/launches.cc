// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/launches.h"

#include <vector>

#include "compll/ir/form.h"
#include "compll/ir/tiles/cuda/plan.h"
#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll {
namespace {

struct Launches {
  std::string function;
  std::uint32_t count = 1, stages = 1;
};

std::vector<Launches> launches_of(const CudaTiles& plan) {
  const Program& program = *plan.program;
  const bool keeps = program.declares.feedback || !program.states.empty();
  const std::uint32_t encoding = plan.shape.statistics && (keeps || !plan.shape.second_for_kept) ? 2 : 1;
  std::vector<Launches> all = {{"encode", encoding}, {"merge", encoding}, {"decode"}};
  if (plan.result) all.push_back({"result"});
  return all;
}

std::vector<Launches> launches_of(const std::vector<const cuda_vector::Routine*>& routines) {
  std::vector<Launches> all;
  for (const cuda_vector::Routine* routine : routines) {
    all.push_back({routine->name, 1, static_cast<std::uint32_t>(routine->stages.size())});
  }
  return all;
}

/// None if the program has no CUDA text.
std::vector<Launches> launches_of(const Program& program, const Source& source) {
  const TargetForm<CudaTiles> form = form_of(program, source, plan_cuda_tiles);
  if (form.kind == Form::Kind::kTiles) return launches_of(*form.tiles);
  if (form.kind == Form::Kind::kRounds) {
    const Result<cuda_vector::Turns> plan = cuda_vector::plan_turns(program, source);
    return plan ? launches_of(routines_of(*plan)) : std::vector<Launches>();
  }
  const Result<cuda_vector::Plan> plan = cuda_vector::plan_vector(program, source);
  return plan ? launches_of(routines_of(*plan)) : std::vector<Launches>();
}

}  // namespace

std::string cuda_launches(const Program& program, const Source& source) {
  std::string all;
  bool said_stages = false;
  for (const Launches& each : launches_of(program, source)) {
    all += (all.empty() ? "on a GPU: " : ", ") + each.function + (program.synchronize ? ": " : " ") +
           std::to_string(each.count) + (all.empty() ? each.count == 1 ? " launch" : " launches" : "");
    if (each.stages == 1) continue;
    all += " of " + std::to_string(each.stages) + (said_stages ? "" : " stages");
    said_stages = true;
  }
  if (!all.empty() && has_codings(program)) {
    all += "; coded sections: 2 launches more to write a payload, 2 to read some";
  }
  return all.empty() ? all : all + "\n";
}

}  // namespace casync::compll
