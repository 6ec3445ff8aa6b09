// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/tiles/cpu/values.h"

#include <algorithm>

#include "compll/ir/tiles/cpu/reductions.h"
#include "compll/ir/tiles/outputs.h"

namespace casync::compll {
namespace {

std::vector<CpuFunction> functions_of(const Graph& graph) {
  std::vector<CpuFunction> all;
  for (const ReducerFunction& function : graph.functions()) {
    CpuFunction made{routine_values(function.graph, {}, {}), {}};
    for (ValueId id = 2; id < function.graph.values().size(); ++id) {
      if (made.values.has_line[id]) made.lines.push_back(id);
    }
    all.push_back(std::move(made));
  }
  return all;
}

/// The values that sections, states and reductions are made of.
ValueFlags always_needed(const CpuEncoder& plan) {
  ValueFlags needed(plan.graph().values().size(), false);
  for (const ValueId id : plan.encode->sections) needed[id] = true;
  for (const ValueId id : plan.encode->states) needed[id] = true;
  for (const auto& [id, reduction] : plan.reductions) needed[id] = true;
  return below(plan.graph(), std::move(needed));
}

/// Returns true if a section holds the value itself; a section of one bit holds the condition that it comes from.
bool is_stored(const CpuEncoder& plan, ValueId id) {
  const std::vector<ValueId>& sections = plan.encode->sections;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    if (sections[i] == id && plan.program->sections[i].type.element.bits != 1) return true;
  }
  return false;
}

/// Marks the operands that a value still needs: of a reduction the initial value, not the elements, which are over.
void need_arguments(const Value& value, ValueFlags& needed) {
  for (std::size_t i = value.kind == Value::Kind::kReduce ? 1 : 0; i < value.arguments.size(); ++i) {
    needed[value.arguments[i]] = true;
  }
}

}  // namespace

ValueId written_as(const CpuEncoder& plan, const Output& output) {
  const bool bit = output.kind == Output::Kind::kSection && plan.graph()[output.value].domain == Domain::kElement &&
                   plan.program->sections[output.index].type.element.bits == 1;
  return bit ? as_bool(plan.graph(), output.value) : output.value;
}

void name_values(CpuEncoder& plan) {
  const Graph& graph = plan.graph();
  const std::vector<Output> outputs = outputs_of(*plan.encode);
  std::vector<ValueId> kept;
  for (const Output& output : outputs) kept.push_back(written_as(plan, output));
  for (const auto& [id, reduction] : plan.reductions) {
    if (reduction.condition) kept.push_back(reduction.condition->value);
  }
  std::vector<std::pair<ValueId, ValueId>> instead;
  for (const Value& value : graph.values()) {
    const bool reduces = value.kind == Value::Kind::kReduce || value.kind == Value::Kind::kBlockReduce;
    if (!reduces || value.reducer != Reducer::kCount) continue;
    instead.emplace_back(value.arguments.front(), as_bool(graph, value.arguments.front()));
  }
  plan.values = routine_values(graph, idioms_of(graph, values_of(outputs)), kept, instead);
  plan.functions = functions_of(graph);
  plan.always = always_needed(plan);
}

std::vector<ValueId> defined_in_loop(const CpuEncoder& plan, const std::vector<ValueId>& elements) {
  std::vector<ValueId> all = with_lines(elements, plan.values);
  std::erase_if(all, [&](ValueId id) {
    const bool is_unused = plan.values.uses[id] == 0 && as_bool(plan.graph(), id) != id && !is_stored(plan, id);
    return id == plan.encode->input || is_unused;
  });
  return all;
}

ValueFlags needed_of_tensor(const Graph& graph, const Pass& pass) {
  ValueFlags needed(graph.values().size(), false);
  for (const Phase& phase : pass.phases) {
    for (const ValueId id : phase.elements) needed[id] = true;
    for (const ValueId id : phase.of_block) needed[id] = true;
    for (const ValueId id : phase.reductions) needed[graph[id].arguments.front()] = true;
    for (const ValueId id : phase.transforms) needed[graph[id].arguments.front()] = true;
    for (const Output& output : phase.stores) needed[output.value] = true;
  }
  for (ValueId id = 0; id < needed.size(); ++id) {  // skips operands of the tensor's reductions: those are over
    if (needed[id] && graph[id].domain != Domain::kTensor) {
      for (const ValueId argument : graph[id].arguments) needed[argument] = true;
    }
  }
  for (std::size_t id = needed.size(); id-- > 0;) {
    const Value& value = graph[static_cast<ValueId>(id)];
    if (needed[id] && value.domain == Domain::kTensor) need_arguments(value, needed);
  }
  return needed;
}

std::vector<ValueId> tensor_lines(const RoutineValues& values, const ValueFlags& needed) {
  std::vector<ValueId> all = with_lines(flagged(needed), values);
  std::erase_if(all, [&](ValueId id) { return (*values.graph)[id].domain != Domain::kTensor; });
  return all;
}

void plan_tensor_values(CpuEncoder& plan) {
  const Graph& graph = plan.graph();
  for (std::size_t i = 0; i < plan.passes.size(); ++i) {
    ValueFlags needed = needed_of_tensor(graph, plan.schedule.passes[i]), asked(needed.size(), false);
    for (const Phase& phase : plan.schedule.passes[i].phases) {
      for (const ValueId id : phase.reductions) {
        if (const auto& condition = plan.reductions.at(id).condition) asked[condition->value] = true;
      }
    }
    asked = below(graph, std::move(asked));
    for (std::size_t id = 0; id < needed.size(); ++id) needed[id] = needed[id] || asked[id];
    plan.passes[i].of_tensor = tensor_lines(plan.values, needed);
  }
  std::vector<ValueId> stored;
  for (const Output& output : plan.schedule.tensor_stores) stored.push_back(output.value);
  plan.at_end = tensor_lines(plan.values, tensor_values_below(graph, stored));
  plan.end_stores = plan.schedule.tensor_stores;
}

}  // namespace casync::compll
