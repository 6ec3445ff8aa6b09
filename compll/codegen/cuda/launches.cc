// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/launches.h"

#include <vector>

#include "compll/ir/tiles/cuda/plan.h"
#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll {
namespace {

struct Launches {
  std::string function;
  std::uint32_t count = 1, stages = 1;
};

std::vector<Launches> launches_of(const Program& program, const Source& source) {
  std::vector<Launches> all;
  const auto add = [&](const cuda_whole::Routine& routine) {
    all.push_back({routine.name, 1, static_cast<std::uint32_t>(routine.stages.size())});
  };
  if (const Result<cuda_whole::Turns> plan = cuda_whole::plan_turns(program, source)) {
    for (const cuda_whole::Routine& turn : plan->turns) add(turn);
    return all;
  }
  if (const Result<Lowered> lowered = lower(program, source)) {
    if (const Result<CudaTiles> plan = plan_cuda_tiles(program, *lowered, source)) {
      const cuda::Shape& shape = plan->shape;
      const bool keeps = program.declares.feedback || !program.states.empty();
      const std::uint32_t encoding = shape.statistics && (keeps || !shape.second_for_kept) ? 2 : 1;
      all = {{"encode", encoding}, {"merge", encoding}, {"decode"}};
      if (plan->result) all.push_back({"result"});
      return all;
    }
  }
  if (const Result<cuda_whole::Plan> plan = cuda_whole::plan_whole(program, source)) {
    for (const cuda_whole::Routine* routine : routines_of(*plan)) add(*routine);
  }
  return all;
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
  return all.empty() ? all : all + "\n";
}

}  // namespace casync::compll
