// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/tiles/routine_values.h"

#include <algorithm>
#include <iterator>

namespace casync::compll {
namespace {

// Operations of a text that are inside of each other. A compiler has an end there (clang++: 256 parentheses), and the
// stack of what writes the text has one.
constexpr int kMostNested = 64;

}  // namespace

RoutineValues routine_values(const Graph& graph, Idioms idioms, const std::vector<ValueId>& kept,
                             const std::vector<std::pair<ValueId, ValueId>>& instead) {
  const std::size_t count = graph.values().size();
  RoutineValues made{&graph, ranges_of(graph), std::move(idioms), std::vector<int>(count, 0), ValueFlags(count, false)};
  ValueFlags crosses(count, false);
  for (ValueId user = 0; user < count; ++user) {
    const Value& value = graph[user];
    if (made.idioms.replaced.contains(user)) continue;
    const auto idiom = made.idioms.values.find(user);
    const bool is_idiom = idiom != made.idioms.values.end();
    for (const ValueId id : is_idiom ? std::vector{idiom->second.argument} : value.arguments) {
      ++made.uses[id];
      if (graph[id].domain != value.domain) crosses[id] = true;  // computed outside of the loop that uses it
    }
  }
  for (const ValueId id : kept) crosses[id] = true;
  for (const auto& [from, to] : instead) --made.uses[from], ++made.uses[to];
  std::vector<int> inside(count, 0);
  for (ValueId id = 0; id < count; ++id) {
    const Value& value = graph[id];
    if (value.kind == Value::Kind::kConstant || value.kind == Value::Kind::kSpread) continue;
    if (made.idioms.replaced.contains(id)) continue;
    const bool is_computed = value.kind == Value::Kind::kCompute && !value.arguments.empty();
    for (const ValueId argument : value.arguments) {
      if (!made.has_line[argument]) inside[id] = std::max(inside[id], inside[argument]);
    }
    ++inside[id];
    made.has_line[id] = !is_computed || crosses[id] || made.uses[id] != 1 || inside[id] >= kMostNested;
  }
  return made;
}

std::vector<ValueId> with_lines(const std::vector<ValueId>& ids, const RoutineValues& values) {
  std::vector<ValueId> all;
  std::copy_if(ids.begin(), ids.end(), std::back_inserter(all), [&](ValueId id) { return values.has_line[id]; });
  return all;
}

std::string value_name(const Graph& graph, ValueId id) {
  const std::string& word = graph[id].name;
  return (word.empty() ? "v" : word + "_") + std::to_string(id);
}

}  // namespace casync::compll
