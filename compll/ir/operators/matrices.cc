// SPDX-License-Identifier: Apache-2.0
//
// The plans of operators on matrices, which programs that exchange have.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "compll/ir/rounds/cpu/layout.h"
#include "compll/ir/rounds/cpu/operators.h"
#include "compll/ir/vector/cpu/fuse_loops.h"
#include "compll/ir/vector/cpu/operators.h"
#include "compll/ir/vector/cuda/operators.h"
#include "compll/ir/vector/cuda/ready.h"
#include "compll/ir/vector/cuda/staging.h"
#include "compll/ir/vector/cuda/tasks.h"

namespace casync::compll::cpu_vector {

void define_matmul(Fusion&, Id, const Term& term, std::optional<VariableId>) { Fusion::refuse(term); }

void define_orthonormalize(Fusion&, Id, const Term& term, std::optional<VariableId>) { Fusion::refuse(term); }

}  // namespace casync::compll::cpu_vector

namespace casync::compll::cpu_turns {
namespace {

/// Defines the function that returns pieces of a matrix.
Id piece(Layout& layout, const Array& array, const Type& type) {
  const Id to = layout.temporary("piece", type);
  const Id memory = array.fills ? *array.fills : layout.temporary("tiles", type);
  if (!array.fills) layout.add(Tiles{memory});
  layout.add(Piece{to, array.id, outers_of(array), memory, array.fills.has_value()});
  return to;
}

}  // namespace

Array define_matmul(Layout& layout, const Term& term, Id to, const std::optional<Place>& place) {
  const Type &of_left = term.arguments[0]->type(), &of_right = term.arguments[1]->type();
  Array left = layout.arrays.array_of(*term.arguments[0]);
  const Array right = layout.arrays.in_memory(layout.arrays.array_of(*term.arguments[1]), of_right, {}, "vectors");
  if (term.form == MatmulForm::kOuter) {
    left = layout.arrays.in_memory(std::move(left), of_left, {}, "vectors");
    layout.add(Outer{to, *left.memory, *right.memory, &term});
    return {to, {}, {}, {{name_of(layout.plan.values[to]), to}}};
  }
  const bool by_pieces = !left.memory;
  const Id from = by_pieces ? piece(layout, left, of_left) : *left.memory;
  layout.add(Memory{to, place});
  layout.add(Product{to, from, by_pieces, *right.memory, &term});
  Array made = layout.arrays.stored(to);
  layout.note(term.form == MatmulForm::kOfRows ? "its rows are multiplied" : "its columns are multiplied", left,
              of_left, left.fills ? 4 : 0);
  if (left.fills) {  // from here on the matrix is in memory
    const Id kept = layout.temporary("kept", of_left);
    layout.add(Stored{kept, left.fills});
    layout.plan.arrays[term.arguments[0]->variable] = {kept, left.fills, {}, {}, {kept}};
  }
  return made;
}

Array define_orthonormalize(Layout& layout, const Term& term, Id to, const std::optional<Place>& place) {
  const Array from = layout.arrays.array_of(*term.arguments.front());
  layout.add(Memory{to, place});
  if (from.memory) {
    layout.add(Copy{*from.memory, term.type(), to});
  } else {
    layout.arrays.fill(from, term.type(), to, "`orthonormalize`");
  }
  layout.add(Apply{"orthonormalize",
                   {MemoryOf{to}, SizeOf{term.type()}, LengthOf{term.block}, Workspace{}},
                   "orthonormalize memory of {0}"});
  return layout.arrays.stored(to);
}

}  // namespace casync::compll::cpu_turns

namespace casync::compll::cuda_vector {
namespace {

Id plan_outer_product(Staging& staging, const Term& term, const std::string& name, std::optional<VariableId> id) {
  Routine& plan = staging.plan;
  const Term &left = *term.arguments[0], &right = *term.arguments[1];
  staging.arrays.store_computed(left);
  staging.arrays.store_computed(right);
  const std::uint32_t stage = std::max(ready(plan, left).all, ready(plan, right).all);
  const OuterProduct product{&term, value_of(plan, left), value_of(plan, right)};
  const Id array = add_value(plan, {name, term.type(), product, {stage, stage}});
  return id && plan.uses[*id] > 1 ? staging.arrays.store(array, id) : array;
}

}  // namespace

Id plan_matmul(Staging& staging, const Term& term, const std::string& name, std::optional<VariableId> id) {
  if (term.form == MatmulForm::kOuter) return plan_outer_product(staging, term, name, id);
  Routine& plan = staging.plan;
  const Term &matrix = *term.arguments[0], &vectors = *term.arguments[1];
  staging.arrays.store_computed(vectors);
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

/// Plans `orthonormalize`: the last tile to have copied its elements does all of it, as each vector needs earlier ones.
Id plan_orthonormalize(Staging& staging, const Term& term, const std::string& name, std::optional<VariableId> id) {
  Routine& plan = staging.plan;
  const Term& of = *term.arguments[0];
  const std::uint32_t stage = ready_to_share(plan, of);
  const Address to = address_for(plan, id, name, term.type());
  const SpaceId rest =
      take(plan, {.word = name + "_rest", .count = Space::Count::kBlock, .bytes = 8, .block = term.block});
  const Type& type = term.type();
  add(plan, stage, Fill{.from = value_of(plan, of), .type = type, .to = to, .evenly = is_shared_evenly(type)});
  add_at_end(plan, stage,
             Apply{"orthonormalize",
                   {Tile{}, SizeOf{term.type()}, BlockOf{term.block}, to, MemoryOf{rest, kDoubleType}},
                   "orthonormalize {3}",
                   term.at});
  return add_memory(plan, name, term.type(), to, {stage + 1, stage + 1});
}

}  // namespace casync::compll::cuda_vector
