// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/tiles/cuda/ahead.h"

#include <algorithm>

namespace casync::compll {
namespace {

bool is_operation(const Value& value) { return value.kind == Value::Kind::kCompute && !value.arguments.empty(); }

}  // namespace

void find_of_places(CudaEncoder& plan) {
  constexpr int kMany = 4;
  const Graph& graph = plan.graph();
  if (!graph.has_transforms()) return;
  std::vector<int> operations;  // of elements, from the place on; -1: made of something else, too
  for (const Value& value : graph.values()) {
    int count = value.domain == Domain::kElement && (value.kind == Value::Kind::kIndex || is_operation(value)) ? 0 : -1;
    for (const ValueId argument : value.arguments) {
      if (count < 0 || graph[argument].domain == Domain::kTensor) continue;
      count = operations[argument] < 0 ? -1 : std::max(count, operations[argument] + 1);
    }
    operations.push_back(count);
    if (count >= 0) continue;
    for (const ValueId argument : value.arguments) {
      if (operations[argument] >= kMany) plan.of_places.insert(argument);
    }
  }
}

bool CudaAheadOf::is_ahead(ValueId id) const {
  return graph[id].kind == Value::Kind::kTransform || of_places.contains(id);
}

ValueFlags CudaAheadOf::up_to_ahead(const std::vector<ValueId>& targets) const {
  ValueFlags in(graph.values().size(), false);
  const auto want = [&](ValueId id) { in[id] = in[id] || graph[id].domain == Domain::kElement; };
  for (const ValueId id : targets) want(id);
  for (std::size_t id = in.size(); id-- > 0;) {
    if (!in[id] || is_ahead(static_cast<ValueId>(id))) continue;
    for (const ValueId argument : graph[static_cast<ValueId>(id)].arguments) want(argument);
  }
  return in;
}

std::vector<ValueId> CudaAheadOf::ahead_of(const std::vector<ValueId>& targets) const {
  std::vector<ValueId> ahead = flagged(below(graph, targets, Domain::kElement));
  std::erase_if(ahead, [&](ValueId id) { return !is_ahead(id); });
  return ahead;
}

CudaAhead CudaAheadOf::plan_of(ValueId id) const {
  return {.id = id, .elements = with_lines(flagged(up_to_ahead(graph[id].arguments)), values.of)};
}

}  // namespace casync::compll
