// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/rounds/cpu/steps.h"

#include <utility>

#include "compll/ir/rounds/cpu/layout.h"
#include "compll/lang/terms.h"

namespace casync::compll::cpu_turns {
namespace {

void bind(Layout& layout, VariableId id, Place place) {
  Turn& plan = layout.plan;
  if (plan.uses[id] == 0) return;
  const Type& type = plan.program->variables[id].type;
  const Id to = layout.value_of(id);
  if (!type.is_array()) {
    plan.of_variable[id] = to;
    return layout.add(Take{to, place});
  }
  layout.add(Given{to, place});
  Array array{to, to, {}};
  if (type.is_over(Extent::Kind::kElements)) array.reads.insert(to);
  plan.arrays[id] = std::move(array);
}

std::optional<Place> place_of(const Turn& plan, VariableId id) {
  const auto wanted = plan.wanted_at.find(id);
  return wanted == plan.wanted_at.end() ? std::optional<Place>() : wanted->second;
}

void plan_value(Layout& layout, const Step& step) {
  const VariableId id = step.variables.front();
  layout.singles.lay_out(*step.value);
  const Id to = layout.value_of(id);
  layout.plan.of_variable[id] = to;
  layout.add(Single{to, step.value.get(), place_of(layout.plan, id)});
}

void plan_array(Layout& layout, const Step& step) {
  Turn& plan = layout.plan;
  const Term& term = *step.value;
  const VariableId id = step.variables.front();
  const Storage storage = plan.storage.at(id);
  const std::optional<Place> place = place_of(plan, id);
  const bool has_name = storage == Storage::kNowhere || storage == Storage::kMade;
  const Id to = has_name ? layout.value_of(id) : layout.temporary("each", term.type());
  Array array = layout.arrays.define(term, to, storage == Storage::kMade ? place : std::nullopt);
  if (storage == Storage::kBuffer) {
    array.fills = layout.temporary("memory", term.type());
    layout.add(Buffer{*array.fills, place});
  } else {
    if (storage == Storage::kMemory) {
      array =
          layout.arrays.in_memory(std::move(array), term.type(), place, "`" + plan.program->variables[id].name + "`");
    }
    if (place) array.place = place;
  }
  plan.arrays[id] = std::move(array);
}

void plan_step(Layout& layout, const Step& step) {
  Turn& plan = layout.plan;
  const Term& term = *step.value;
  const VariableId id = step.variables.front();
  if (step.variables.size() > 1) Layout::refuse(term, "a map of several results");
  if (term.op == Op::kVariable) {  // another name
    if (term.type().is_array()) {
      plan.arrays[id] = plan.arrays.at(term.variable);
    } else {
      plan.of_variable[id] = plan.of_variable.at(term.variable);
    }
    return;
  }
  layout.add(Statement{term.at});
  term.type().is_array() ? plan_array(layout, step) : plan_value(layout, step);
}

/// Stores the value of a term at this place, unless it is there already.
void put(Layout& layout, const Term& term, Place place, const std::string& what) {
  const Array array = layout.arrays.array_of(term);
  if (array.place == place) return;
  if (!array.memory) return layout.arrays.fill(array, term.type(), place, what);
  layout.add(Copy{*array.memory, term.type(), place});
  layout.note(what, array, term.type(), 4);
}

}  // namespace

void plan_inputs(Turn& plan) {
  Layout layout(plan);
  const Routine& routine = *plan.program->synchronize;
  bind(layout, routine.gradient, {Place::Kind::kGradient});
  for (std::size_t i = 0; i < routine.states.size(); ++i) bind(layout, routine.states[i], {Place::Kind::kStateIn, i});
  for (std::size_t i = 0; i < plan.number; ++i) bind(layout, plan.rounds.exchanged[i], {Place::Kind::kExchanged, i});
  for (std::size_t i = 0; i < plan.rounds.stored.size(); ++i) {
    if (plan.rounds.stored_in[i] < plan.number) bind(layout, plan.rounds.stored[i], {Place::Kind::kScratch, i});
  }
}

void plan_steps(Turn& plan) {
  Layout layout(plan);
  for (const Step* step : plan.plan().steps) plan_step(layout, *step);
}

void plan_results(Turn& plan) {
  Layout layout(plan);
  const Routine& routine = *plan.program->synchronize;
  const Term& given = *plan.plan().given;
  if (!plan.is_last()) return put(layout, given, {Place::Kind::kExchanged, plan.number}, "what is exchanged");
  for (std::size_t i = 0; i < routine.states_then.size(); ++i) {
    const VariableId id = routine.states_then[i];
    put(layout, *make_variable({}, id, plan.program->variables[id].type), {Place::Kind::kStateOut, i},
        "state `" + plan.program->states[i].name + "`");
  }
  if (plan.uses[routine.gradient] == 0) return put(layout, given, {Place::Kind::kResult}, "the result");
  // The result may be in the memory that is read.
  layout.add(MakeResult{});
  put(layout, given, {Place::Kind::kMade}, "the result");
  layout.add(GiveResult{});
}

}  // namespace casync::compll::cpu_turns
