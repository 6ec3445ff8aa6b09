// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/tiles/value_flags.h"

#include <cstddef>

namespace casync::compll {

ValueFlags below(const Graph& graph, ValueFlags flags) {
  for (std::size_t id = flags.size(); id-- > 0;) {
    if (!flags[id]) continue;
    for (const ValueId argument : graph[static_cast<ValueId>(id)].arguments) flags[argument] = true;
  }
  return flags;
}

ValueFlags below(const Graph& graph, const std::vector<ValueId>& targets, Domain domain) {
  ValueFlags in(graph.values().size(), false);
  const auto want = [&](ValueId id) { in[id] = in[id] || graph[id].domain == domain; };
  for (const ValueId id : targets) want(id);
  for (std::size_t id = in.size(); id-- > 0;) {
    if (!in[id]) continue;
    for (const ValueId argument : graph[static_cast<ValueId>(id)].arguments) want(argument);
  }
  return in;
}

ValueFlags tensor_values_below(const Graph& graph, const std::vector<ValueId>& targets) {
  ValueFlags in(graph.values().size(), false);
  for (const ValueId id : targets) in[id] = true;
  for (std::size_t id = in.size(); id-- > 0;) {
    const Value& value = graph[static_cast<ValueId>(id)];
    if (!in[id]) continue;
    for (std::size_t i = value.kind == Value::Kind::kReduce ? 1 : 0; i < value.arguments.size(); ++i) {
      in[value.arguments[i]] = true;
    }
  }
  for (std::size_t id = 0; id < in.size(); ++id) {
    in[id] = in[id] && graph[static_cast<ValueId>(id)].domain == Domain::kTensor;
  }
  return in;
}

std::vector<ValueId> flagged(const ValueFlags& flags) {
  std::vector<ValueId> all;
  for (ValueId id = 0; id < flags.size(); ++id) {
    if (flags[id]) all.push_back(id);
  }
  return all;
}

bool is_random(const Value& value) { return value.kind == Value::Kind::kCompute && value.arguments.empty(); }

}  // namespace casync::compll
