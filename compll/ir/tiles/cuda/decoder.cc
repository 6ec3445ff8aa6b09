// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/tiles/cuda/decoder.h"

#include <algorithm>

#include "compll/ir/cannot_plan.h"
#include "compll/ir/tiles/cuda/ahead.h"
#include "compll/ir/tiles/cuda/values.h"
#include "compll/ir/tiles/outputs.h"

namespace casync::compll {
namespace {

void refuse_random(const Graph& graph, const std::vector<ValueId>& ids) {
  for (const ValueId id : ids) {
    if (is_random(graph[id])) throw CannotPlan{graph[id].at, "a random number in `decode`"};
  }
}

}  // namespace

CudaDecoder plan_cuda_decoder(const DecodeGraph& decode) {
  const Graph& graph = decode.graph;
  const Schedule plan = schedule(graph, {{Output::Kind::kResult, 0, decode.result}}, Transforms::kAgain);
  if (plan.passes.size() != 1 || plan.passes[0].phases.size() != 1 || !plan.passes[0].phases[0].reductions.empty()) {
    throw CannotPlan{graph[decode.result].at, "a `decode` that reduces"};
  }
  const Phase& phase = plan.passes[0].phases[0];
  refuse_random(graph, phase.of_block);
  refuse_random(graph, phase.elements);
  CudaDecoder made;
  made.decode = &decode;
  made.values = cuda_values(graph, {decode.result}, {});
  made.rotates = graph.has_transforms();
  made.of_tensor = with_lines(plan.passes[0].of_tensor, made.values.of);
  made.has_block_values = !phase.of_block.empty();
  made.of_block = with_lines(phase.of_block, made.values.of);
  for (const ValueId id : phase.elements) {
    if (graph[id].kind != Value::Kind::kSection) continue;
    if (graph[id].type == kDoubleType) throw CannotPlan{graph[id].at, "a section of doubles"};
    made.sections.push_back(id);
  }
  const CudaAheadOf ahead{graph, made.values, {}};
  for (const ValueId id : ahead.ahead_of({decode.result})) made.ahead.push_back(ahead.plan_of(id));
  const ValueFlags here = ahead.up_to_ahead({decode.result});
  made.elements = with_lines(phase.elements, made.values.of);
  std::erase_if(made.elements, [&](ValueId id) { return !here[id]; });
  return made;
}

CudaResult plan_cuda_result(const ResultGraph& result) {
  const Graph& graph = result.graph;
  const std::vector<ValueId> outputs = values_of(outputs_of(result));
  const Schedule plan = schedule(graph, outputs_of(result), Transforms::kKept);
  const Phase& phase = plan.passes.front().phases.front();
  CudaResult made;
  made.result = &result;
  made.values = cuda_values(graph, outputs, outputs);
  made.of_tensor = with_lines(plan.passes.front().of_tensor, made.values.of);
  made.elements = with_lines(phase.elements, made.values.of);
  std::copy_if(phase.elements.begin(), phase.elements.end(), std::back_inserter(made.drawn),
               [&](ValueId id) { return is_random(graph[id]); });
  made.stores = phase.stores;
  return made;
}

}  // namespace casync::compll
