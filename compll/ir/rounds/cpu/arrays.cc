// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/rounds/cpu/arrays.h"

#include <utility>

#include "compll/ir/rounds/cpu/layout.h"

namespace casync::compll::cpu_turns {
namespace {

std::vector<Id> outers_of(const Array& array) {
  std::vector<Id> all;
  for (const auto& [name, id] : array.outers) all.push_back(id);
  return all;
}

}  // namespace

Array Arrays::array_of(const Term& term) {
  if (term.op == Op::kVariable) return layout_.plan.arrays.at(term.variable);
  return define(term, layout_.temporary(std::string(name_of(term.op)), term.type()), {});
}

Array Arrays::settled(const Term& term) {
  Array array = array_of(term);
  if (array.outers.empty()) return array;
  return in_memory(std::move(array), term.type(), {}, "a product");
}

Array Arrays::define(const Term& term, Id to, const std::optional<Place>& place) {
  switch (term.op) {
    case Op::kMap: return define_map(term, to);
    case Op::kMatmul: return define_matmul(term, to, place);
    case Op::kRange: return define_range(to);
    case Op::kSpread: return define_spread(term, to);
    case Op::kBlockReduce: return define_block_reduction(term, to, place);
    case Op::kOrthonormalize: return define_orthonormal(term, to, place);
    case Op::kLargest: return define_largest(term, to, place);
    case Op::kScatter:
    case Op::kScatterAdd: return define_scatter(term, to, place);
    default: break;  // the other ones are interpreted here
  }
  Layout::refuse(term, "`" + std::string(name_of(term.op)) + "`");
}

Array Arrays::stored(Id to) {
  layout_.add(Stored{to, {}});
  return {to, to, {}};
}

Array Arrays::define_range(Id to) {
  layout_.add(Range{to});
  return {to, {}, {}};
}

Array Arrays::define_spread(const Term& term, Id to) {
  layout_.add(Spread{to, settled(*term.arguments.front()).id, &term});
  return {to, {}, {}};
}

Array Arrays::define_block_reduction(const Term& term, Id to, const std::optional<Place>& place) {
  const Term& of = *term.arguments.front();
  const Array from = settled(of);
  layout_.add(Memory{to, place});
  const std::optional<Id> function = layout_.singles.function_of(term);
  layout_.add(ReduceBlocks{to, from.id, &term, function});
  layout_.note("`block_reduce`", from, of.type(), 0);
  return stored(to);
}

Array Arrays::define_orthonormal(const Term& term, Id to, const std::optional<Place>& place) {
  const Array from = array_of(*term.arguments.front());
  layout_.add(Memory{to, place});
  if (from.memory) {
    layout_.add(Copy{*from.memory, term.type(), to});
  } else {
    fill(from, term.type(), to, "`orthonormalize`");
  }
  layout_.add(Orthonormalize{to, &term});
  return stored(to);
}

Array Arrays::define_largest(const Term& term, Id to, const std::optional<Place>& place) {
  const Term& of = *term.arguments.front();
  const Array from = in_memory(array_of(of), of.type(), {}, "`largest`");
  layout_.add(Memory{to, place});
  layout_.add(Largest{to, *from.memory, &term});
  layout_.note("`largest`", from, of.type(), 0);
  return stored(to);
}

Array Arrays::define_scatter(const Term& term, Id to, const std::optional<Place>& place) {
  const Array places = settled(*term.arguments[0]);
  const Term& given = *term.arguments[1];
  std::optional<Id> values;
  if (given.type().is_array()) {
    values = settled(given).id;
  } else {
    layout_.singles.lay_out(given);
  }
  const std::string what = "`" + std::string(name_of(term.op)) + "`";
  if (term.arguments.size() > 2) {
    const Array into = array_of(*term.arguments[2]);
    layout_.add(Memory{to, place});
    fill(into, term.type(), to, what);
  } else {
    layout_.add(Memory{to, place});
    layout_.add(Zeros{to});
    layout_.note(what, {}, term.type(), 4);
  }
  layout_.add(Scatter{to, places.id, values, &term});
  Array made = stored(to);
  if (term.type().is_over(Extent::Kind::kElements)) made.reads.insert(to);
  return made;
}

Array Arrays::define_matmul(const Term& term, Id to, const std::optional<Place>& place) {
  const Type &of_left = term.arguments[0]->type(), &of_right = term.arguments[1]->type();
  Array left = array_of(*term.arguments[0]);
  const Array right = in_memory(array_of(*term.arguments[1]), of_right, {}, "vectors");
  if (term.form == MatmulForm::kOuter) {
    left = in_memory(std::move(left), of_left, {}, "vectors");
    layout_.add(Outer{to, *left.memory, *right.memory, &term});
    return {to, {}, {}, {{name_of(layout_.plan.values[to]), to}}};
  }
  const bool by_pieces = !left.memory;
  const Id from = by_pieces ? piece(left, of_left) : *left.memory;
  layout_.add(Memory{to, place});
  layout_.add(Product{to, from, by_pieces, *right.memory, &term});
  Array made = stored(to);
  layout_.note(term.form == MatmulForm::kOfRows ? "its rows are multiplied" : "its columns are multiplied", left,
               of_left, left.fills ? 4 : 0);
  if (left.fills) {  // from here on the matrix is in memory
    const Id kept = layout_.temporary("kept", of_left);
    layout_.add(Stored{kept, left.fills});
    layout_.plan.arrays[term.arguments[0]->variable] = {kept, left.fills, {}, {}, {kept}};
  }
  return made;
}

Array Arrays::define_map(const Term& term, Id to) {
  if (term.types.size() > 1) Layout::refuse(term, "a map of several results");
  Array map{to, {}, {}};
  Map item{to, &term, {}};
  for (const TermPtr& argument : term.arguments) {
    const Array from = array_of(*argument);
    item.arguments.push_back(from.id);
    map.outers.insert(from.outers.begin(), from.outers.end());
    map.reads.insert(from.reads.begin(), from.reads.end());
  }
  // Values outside of the elements are computed ahead of them.
  for (const Step& step : term.function->steps) layout_.singles.hoist(*step.value);
  for (const TermPtr& result : term.function->results) layout_.singles.hoist(*result);
  layout_.singles.check(*term.function);
  layout_.add(std::move(item));
  return map;
}

Array Arrays::in_memory(Array array, const Type& type, const std::optional<Place>& place, const std::string& what) {
  if (array.memory && !place) return array;
  const Id to = layout_.temporary("kept", type);
  layout_.add(Memory{to, place});
  fill(array, type, to, what);
  Array kept = stored(to);
  if (type.is_over(Extent::Kind::kElements)) kept.reads.insert(to);
  return kept;
}

void Arrays::fill(const Array& array, const Type& type, const Address& to, const std::string& what) {
  layout_.note(what, array, type, 4);
  layout_.add(Fill{array.id, outers_of(array), type, to});
}

/// Defines the function that returns pieces of a matrix.
Id Arrays::piece(const Array& array, const Type& type) {
  const Id to = layout_.temporary("piece", type);
  const Id memory = array.fills ? *array.fills : layout_.temporary("tiles", type);
  if (!array.fills) layout_.add(Tiles{memory});
  layout_.add(Piece{to, array.id, outers_of(array), memory, array.fills.has_value()});
  return to;
}

}  // namespace casync::compll::cpu_turns
