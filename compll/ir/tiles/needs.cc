// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/tiles/needs.h"

#include <algorithm>
#include <cstddef>

namespace casync::compll {
namespace {

struct Need {
  bool any = false;
  std::optional<Condition> condition;  ///< empty: the value is always needed, if at all

  void also(const std::optional<Condition>& other) {
    condition = !any || condition == other ? other : std::nullopt;
    any = true;
  }
};

/// Returns for each value whether it is made of constants and parameters only.
std::vector<bool> made_of_parameters(const Graph& graph) {
  std::vector<bool> all;
  for (const Value& value : graph.values()) {
    const bool known = value.kind == Value::Kind::kConstant || value.kind == Value::Kind::kParameter;
    const bool computed = value.kind == Value::Kind::kCompute && value.domain == Domain::kTensor;
    all.push_back(known || (computed && std::all_of(value.arguments.begin(), value.arguments.end(),
                                                    [&](ValueId id) { return all[id]; })));
  }
  return all;
}

}  // namespace

std::vector<std::optional<Condition>> needed_if(const Graph& graph, const std::vector<ValueId>& results) {
  const std::vector<bool> known = made_of_parameters(graph);
  std::vector<Need> needs(graph.values().size());
  for (const ValueId id : results) needs[id].also(std::nullopt);
  for (std::size_t id = needs.size(); id-- > 0;) {
    const Value& value = graph[static_cast<ValueId>(id)];
    if (!needs[id].any) continue;
    const bool chooses = value.kind == Value::Kind::kCompute && value.op == Op::kSelect && known[value.arguments[0]];
    for (std::size_t i = 0; i < value.arguments.size(); ++i) {
      const bool opens = chooses && i != 0 && !needs[id].condition;
      needs[value.arguments[i]].also(opens ? Condition{value.arguments[0], i == 1} : needs[id].condition);
    }
  }
  std::vector<std::optional<Condition>> conditions;
  for (const Need& need : needs) conditions.push_back(need.condition);
  return conditions;
}

}  // namespace casync::compll
