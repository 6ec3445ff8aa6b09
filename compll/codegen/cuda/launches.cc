// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/launches.h"

#include <vector>

#include "compll/codegen/cuda/rounds.h"
#include "compll/codegen/cuda/whole.h"
#include "compll/ir/tiles/cuda/plan.h"

namespace casync::compll {
namespace {

struct Launches {
  std::string function;
  std::uint32_t count = 1, stages = 1;
};

std::vector<Launches> launches_of(const Program& program, const Source& source) {
  std::vector<Launches> all;
  if (const Result<CudaRounds> rounds = cuda_rounds_text(program, source)) {
    for (const std::uint32_t stages : rounds->stages) all.push_back({"turn " + std::to_string(all.size()), 1, stages});
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
  if (const Result<CudaWhole> whole = cuda_whole_text(program, source)) {
    for (const auto& [function, stages] : whole->stages) all.push_back({function, 1, stages});
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
