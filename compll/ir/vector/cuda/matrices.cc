// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/cuda/matrices.h"

#include <algorithm>

#include "compll/ir/vector/cuda/ready.h"
#include "compll/ir/vector/cuda/staging.h"
#include "compll/ir/vector/cuda/tasks.h"

namespace casync::compll::cuda_whole {

Id Matrices::plan_matmul(const Term& term, const std::string& name, std::optional<VariableId> id) {
  Routine& plan = staging_.plan;
  const Term &matrix = *term.arguments[0], &vectors = *term.arguments[1];
  staging_.arrays.keep_computed(vectors);
  const std::uint32_t stage = std::max(ready(plan, matrix).all, ready(plan, vectors).all);
  const Address to = address_for(plan, id, name, term.type());
  const Id from = value_of(plan, matrix);
  add(plan, stage, Multiply{&term, from, value_of(plan, vectors), to});
  const Value stored = plan.values[from];
  if (stored.fills) {
    rebind(plan, matrix, add_memory(plan, stored.name + "_filled", stored.type, *stored.fills, {stage + 1, stage + 1}));
  }
  return add_memory(plan, name, term.type(), to, {stage + 1, stage + 1});
}

Id Matrices::plan_outer_product(const Term& term, const std::string& name, std::optional<VariableId> id) {
  Routine& plan = staging_.plan;
  const Term &left = *term.arguments[0], &right = *term.arguments[1];
  staging_.arrays.keep_computed(left);
  staging_.arrays.keep_computed(right);
  const std::uint32_t stage = std::max(ready(plan, left).all, ready(plan, right).all);
  const OuterProduct product{&term, value_of(plan, left), value_of(plan, right)};
  const Id array = add_value(plan, {name, term.type(), product, {stage, stage}});
  return id && plan.uses[*id] > 1 ? staging_.arrays.keep(array, id) : array;
}

/// Plans `orthonormalize`: the last tile to have copied its elements does all of it, as each vector needs earlier ones.
Id Matrices::plan_orthonormalize(const Term& term, const std::string& name, std::optional<VariableId> id) {
  Routine& plan = staging_.plan;
  const Term& of = *term.arguments[0];
  const std::uint32_t stage = ready_to_share(plan, of);
  const Address to = address_for(plan, id, name, term.type());
  const SpaceId rest =
      take(plan, {.word = name + "_rest", .count = Space::Count::kBlock, .bytes = 8, .block = term.block});
  add(plan, stage, Fill{.from = value_of(plan, of), .type = term.type(), .to = to});
  add_at_end(plan, stage,
             Apply{"orthonormalize",
                   {Tile{}, SizeOf{term.type()}, BlockOf{term.block}, to, MemoryOf{rest, kDoubleType}},
                   "orthonormalize {3}",
                   term.at});
  return add_memory(plan, name, term.type(), to, {stage + 1, stage + 1});
}

Id Matrices::plan_vector_reduction(const Term& term, const std::string& name) {
  Routine& plan = staging_.plan;
  const Term& of = *term.arguments[0];
  const Reduction by = staging_.reductions.reduction(term);
  const SpaceId to = take_elements(plan, name, term.type());
  const std::uint32_t stage = std::max(ready(plan, of).all, ready_of_initial(plan, term));
  add(plan, stage, ReduceVectors{by, value_of(plan, of), to});
  return add_memory(plan, name, term.type(), address_of(to, term.type().element), {stage + 1, stage + 1});
}

}  // namespace casync::compll::cuda_whole
