// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/cuda/reductions.h"

#include <algorithm>
#include <set>

#include "compll/ir/cuda_reducers.h"
#include "compll/ir/vector/cuda/input.h"
#include "compll/ir/vector/cuda/ready.h"
#include "compll/ir/vector/cuda/staging.h"
#include "compll/ir/vector/cuda/tasks.h"
#include "compll/lang/terms.h"

namespace casync::compll::cuda_vector {
namespace {

/// Returns true if this is a value that a kernel has from its launch.
bool is_of_launch(const Term& term) {
  return term.op == Op::kParameter || term.op == Op::kRows || term.op == Op::kColumns;
}

/// The bytes of a chunk's result; one of fewer takes as many.
constexpr std::uint32_t kChunkBytes = 8;
// Chunks that keep all warps of a tile at work.
constexpr std::uint32_t kBusyChunks = 4;

}  // namespace

Reduction Reductions::reduction(const Term& term) {
  const ScalarType type = term.arguments.front()->type().element;
  if (!has_cuda_reducer(term.reducer, type)) refuse(term.at, "this reduction");
  Reduction by{&term, is_ordered(term.reducer, type), {}};
  if (term.reducer == Reducer::kUser) by.function = function(term);
  return by;
}

/// The number of the function to reduce by. Kernels have it ahead of their stages, where it sees nothing but its
/// arguments.
std::size_t Reductions::function(const Term& term) {
  std::set<VariableId> own(term.function->parameters.begin(), term.function->parameters.end());
  for (const compll::Step& step : term.function->steps) own.insert(step.variables.begin(), step.variables.end());
  for_each_term(*term.function, [&](const Term& each) {
    const bool is_outside = each.op == Op::kVariable ? own.count(each.variable) == 0 : is_of_launch(each);
    if (is_outside) refuse(each.at, "a function that sees this");
  });
  check(*term.function);
  staging_.plan.functions.push_back(&term);
  return staging_.plan.functions.size() - 1;
}

void Reductions::plan_reduction(const Term& term) {
  Routine& plan = staging_.plan;
  const Term& of = *term.arguments[0];
  const Reduction by = reduction(term);
  const std::string name =
      staging_.temporary(std::string(term.reducer == Reducer::kUser ? "reduced" : name_of(term.reducer)));
  const SpaceId slot = take(plan, {.word = name, .bytes = 8, .zeros = by.ordered ? Zeros::kNone : Zeros::kCleared});
  const bool evenly = is_shared_evenly(of.type());
  // Chunks are shared otherwise than elements.
  const std::uint32_t shared = by.ordered && evenly ? ready(plan, of).all : ready_to_share(plan, of);
  const std::uint32_t stage = std::max(shared, ready_of_initial(plan, term));
  const Id from = value_of(plan, of);
  if (!by.ordered && is_reduced_with_input(plan, term, stage)) {
    reduce_with_input(plan, {by, name + "_all", from, slot});
  } else if (!by.ordered) {
    add_own(plan, stage, ReduceJoined{by, from, slot}, evenly ? 0 : 1);
  } else {
    const SpaceId chunks =
        take(plan, {.word = name + "_chunks", .count = Space::Count::kChunks, .bytes = kChunkBytes, .of = of.type()});
    const std::uint32_t pieces = plan.conditions.count(&term) != 0 ? 1 : kBusyChunks;
    add_own(plan, stage, ReduceChunks{by, from, chunks}, evenly ? 0 : pieces);
    add_at_end(plan, stage, FinishChunks{by, from, chunks, slot});
  }
  plan.of_term[&term] = add_value(plan, {name, term.type(), Reduced{by, slot}, {stage + 1, stage + 1}});
}

Id Reductions::plan_block_reduction(const Term& term, const std::string& name) {
  Routine& plan = staging_.plan;
  const Term& of = *term.arguments[0];
  const Reduction by = reduction(term);
  const SpaceId to = take_elements(plan, name, term.type());
  const std::uint32_t stage = std::max(ready(plan, of).own, ready_of_initial(plan, term));
  add_own(plan, stage, ReduceBlocks{by, value_of(plan, of), to});
  return add_memory(plan, name, term.type(), address_of(to, term.type().element), {stage, stage + 1});
}

std::uint32_t ready_of_initial(const Routine& plan, const Term& term) {
  if (term.arguments.size() < 2) return 0;
  check(*term.arguments[1]);
  return ready_of_scalar(plan, *term.arguments[1]);
}

}  // namespace casync::compll::cuda_vector
