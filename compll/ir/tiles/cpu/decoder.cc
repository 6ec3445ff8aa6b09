// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/tiles/cpu/decoder.h"

#include <algorithm>

#include "compll/ir/cannot_plan.h"
#include "compll/ir/tiles/cpu/reductions.h"
#include "compll/ir/tiles/cpu/transform_arrays.h"
#include "compll/ir/tiles/cpu/values.h"
#include "compll/ir/tiles/outputs.h"

namespace casync::compll {
namespace {

bool reduces(const Pass& pass) {
  return std::any_of(pass.phases.begin(), pass.phases.end(),
                     [](const Phase& phase) { return !phase.reductions.empty(); });
}

/// The values of these that are of a kind.
std::vector<ValueId> of_kind(const Graph& graph, const std::vector<ValueId>& ids, Value::Kind kind) {
  std::vector<ValueId> all;
  std::copy_if(ids.begin(), ids.end(), std::back_inserter(all), [&](ValueId id) { return graph[id].kind == kind; });
  return all;
}

/// The code that an element is made of, if the element has no other input of its own and a vector can hold the values
/// of all codes.
std::optional<ValueId> code_of(const Graph& graph, const Phase& phase) {
  std::optional<ValueId> code;
  for (const ValueId id : phase.elements) {
    const Value& value = graph[id];
    if (value.kind == Value::Kind::kSpread || !(value.kind != Value::Kind::kCompute || value.arguments.empty()))
      continue;
    if (code || value.kind != Value::Kind::kSection || value.type.bits > 4 || !value.type.is_integer())
      return std::nullopt;
    code = id;
  }
  return code;
}

/// The tensor's values that the elements and the blocks are made of.
std::vector<ValueId> of_tensor(const CpuDecoder& plan, const Pass& pass) {
  const Graph& graph = plan.decode->graph;
  ValueFlags needed(graph.values().size(), false);
  for (const Phase& phase : pass.phases) {
    for (const ValueId id : phase.elements) needed[id] = true;
  }
  for (const ValueId id : pass.phases[0].of_block) needed[id] = true;
  needed[plan.decode->result] = true;
  return tensor_lines(plan.values, below(graph, std::move(needed)));
}

}  // namespace

CpuDecoder plan_cpu_decoder(const DecodeGraph& decode) {
  const Graph& graph = decode.graph;
  const Schedule plan = schedule(graph, {{Output::Kind::kResult, 0, decode.result}}, Transforms::kKept);
  if (plan.passes.size() != 1 || reduces(plan.passes[0])) {
    throw CannotPlan{graph[decode.result].at, "a `decode` that reduces"};
  }
  check_doubles(graph, plan);
  const Pass& pass = plan.passes[0];
  CpuDecoder made;
  made.decode = &decode;
  made.values = routine_values(graph, idioms_of(graph, {decode.result}), {decode.result});
  made.rotates = pass.phases.size() > 1;
  if (!made.rotates) made.table = code_of(graph, pass.phases[0]);
  made.of_tensor = of_tensor(made, pass);
  made.of_block = with_lines(pass.phases[0].of_block, made.values);
  for (const Phase& phase : pass.phases) {
    made.loops.push_back({of_kind(graph, phase.elements, Value::Kind::kSection),
                          with_lines(phase.elements, made.values), phase.transforms, !phase.stores.empty()});
  }
  made.arrays = place_transforms(pass, made.array_of);
  return made;
}

CpuResult plan_cpu_result(const ResultGraph& result) {
  const Graph& graph = result.graph;
  const std::vector<ValueId> outputs = values_of(outputs_of(result));
  const Schedule plan = schedule(graph, outputs_of(result), Transforms::kKept);
  if (plan.passes.size() != 1 || plan.passes[0].phases.size() != 1 || reduces(plan.passes[0])) {
    throw CannotPlan{graph[result.result].at, "a `result` that reduces"};
  }
  check_doubles(graph, plan);
  const Phase& phase = plan.passes[0].phases[0];
  CpuResult made;
  made.result = &result;
  made.values = routine_values(graph, idioms_of(graph, outputs), outputs);
  made.of_tensor = tensor_lines(made.values, needed_of_tensor(graph, plan.passes[0]));
  std::copy_if(phase.elements.begin(), phase.elements.end(), std::back_inserter(made.random),
               [&](ValueId id) { return is_random(graph[id]); });
  made.states = of_kind(graph, phase.elements, Value::Kind::kState);
  made.elements = with_lines(phase.elements, made.values);
  made.stores = phase.stores;
  return made;
}

}  // namespace casync::compll
