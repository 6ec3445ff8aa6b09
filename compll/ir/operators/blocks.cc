// SPDX-License-Identifier: Apache-2.0
//
// The plans of operators on blocks, and of places.
#include <algorithm>
#include <optional>
#include <string>

#include "compll/ir/rounds/cpu/layout.h"
#include "compll/ir/rounds/cpu/operators.h"
#include "compll/ir/vector/cpu/fuse_loops.h"
#include "compll/ir/vector/cpu/operators.h"
#include "compll/ir/vector/cuda/operators.h"
#include "compll/ir/vector/cuda/ready.h"
#include "compll/ir/vector/cuda/staging.h"
#include "compll/ir/vector/cuda/tasks.h"

namespace casync::compll::cpu_vector {

void define_block_reduce(Fusion& fusion, Id to, const Term& term, std::optional<VariableId>) {
  if (term.arguments.size() > 1) fusion.singles.prepare(*term.arguments[1]);
  const Id from = fusion.arrays.array(*term.arguments.front());
  const std::optional<Id> function = reduces_groups(term) ? std::nullopt : fusion.singles.reducing_function(term);
  fusion.add(BlockMemory{to});
  fusion.loop.add_of_blocks(to, ReduceBlocks{to, from, &term, function}, fusion.loop.level(from), term.block);
}

void define_block_values(Fusion& fusion, Id to, Id from, const Term& term) {
  const std::size_t level = std::max<std::size_t>(fusion.loop.level(from), 1) - 1;
  fusion.add(BlockMemory{to});
  fusion.loop.add_of_blocks(to, ComputeBlocks{to, from}, level, term.type().extent->count);
}

void define_spread(Fusion& fusion, Id to, const Term& term, std::optional<VariableId>) {
  const Id from = fusion.arrays.array(*term.arguments.front());
  fusion.add(Spread{to, from, term.block});
  fusion.loop.set_level(to, fusion.loop.level(from));
}

void define_range(Fusion& fusion, Id to, const Term&, std::optional<VariableId>) { fusion.add(Range{to}); }

}  // namespace casync::compll::cpu_vector

namespace casync::compll::cpu_turns {

Array define_block_reduce(Layout& layout, const Term& term, Id to, const std::optional<Place>& place) {
  const Term& of = *term.arguments.front();
  const Array from = layout.arrays.settled(of);
  layout.add(Memory{to, place});
  const std::optional<Id> function = layout.singles.function_of(term);
  layout.add(ReduceBlocks{to, from.id, &term, function});
  layout.note("`block_reduce`", from, of.type(), 0);
  return layout.arrays.stored(to);
}

Array define_spread(Layout& layout, const Term& term, Id to, const std::optional<Place>&) {
  layout.add(Spread{to, layout.arrays.settled(*term.arguments.front()).id, &term});
  return {to, {}, {}};
}

Array define_range(Layout& layout, const Term&, Id to, const std::optional<Place>&) {
  layout.add(Range{to});
  return {to, {}, {}};
}

}  // namespace casync::compll::cpu_turns

namespace casync::compll::cuda_vector {
namespace {

Id plan_vector_reduction(Staging& staging, const Term& term, const std::string& name) {
  Routine& plan = staging.plan;
  const Term& of = *term.arguments[0];
  const Reduction by = staging.reductions.reduction(term);
  const SpaceId to = take_elements(plan, name, term.type());
  const std::uint32_t stage = std::max(ready(plan, of).all, ready_of_initial(plan, term));
  add(plan, stage, ReduceVectors{by, value_of(plan, of), to});
  return add_memory(plan, name, term.type(), address_of(to, term.type().element), {stage + 1, stage + 1});
}

}  // namespace

Id plan_block_reduce(Staging& staging, const Term& term, const std::string& name, std::optional<VariableId>) {
  return term.block.dimension ? plan_vector_reduction(staging, term, name)
                              : staging.reductions.plan_block_reduction(term, name);
}

Id plan_spread(Staging& staging, const Term& term, const std::string& name, std::optional<VariableId>) {
  Routine& plan = staging.plan;
  const Term& of = *term.arguments[0];
  Ready when = ready(plan, of);
  if (term.block.dimension) when.own = when.all;
  return add_value(plan, {name, term.type(), Spread{value_of(plan, of), term.block}, when});
}

Id plan_range(Staging& staging, const Term& term, const std::string& name, std::optional<VariableId>) {
  return add_value(staging.plan, {name, term.type(), Range{}, {}});
}

}  // namespace casync::compll::cuda_vector
