// SPDX-License-Identifier: Apache-2.0
//
// The plans of operators that find elements.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compll/ir/rounds/cpu/layout.h"
#include "compll/ir/rounds/cpu/operators.h"
#include "compll/ir/vector/cpu/fuse_loops.h"
#include "compll/ir/vector/cpu/operators.h"
#include "compll/ir/vector/cuda/input.h"
#include "compll/ir/vector/cuda/operators.h"
#include "compll/ir/vector/cuda/ready.h"
#include "compll/ir/vector/cuda/staging.h"
#include "compll/ir/vector/cuda/tasks.h"

namespace casync::compll::cpu_vector {
namespace {

/// `largest` or `kth_largest` of few elements, at once.
Apply selected(Id to, const Term& term, Id key) {
  const std::string name(name_of(term.op));
  const SizeOf count{term.arguments.front()->type()};
  if (term.op == Op::kLargest) return {to, name, {}, {count, SizeOf{term.type()}, key, Workspace{}}, name + " by {2}"};
  const Term* const place = term.arguments[1].get();
  return {to, name, term.type().element, {count, place, key, Workspace{}}, name + " by {2}"};
}

}  // namespace

void define_search(Fusion& fusion, Id to, const Term& term, std::optional<VariableId> id) {
  OpenLoop& loop = fusion.loop;
  const Term& of = *term.arguments.front();
  if (term.op == Op::kKthLargest) fusion.singles.check(*term.arguments[1]);
  const Id from = fusion.arrays.array(of), key = fusion.temporary("key");
  // A sample computes elements one by one, ahead of the loop.
  if (loop.level(from) != 0 || fusion.plan.values[from].one_by_one) loop.close();
  fusion.add(Key{key, from});
  if (!of.type().is_over(Extent::Kind::kElements)) return fusion.add(selected(to, term, key));
  const Id search = fusion.temporary(std::string(name_of(term.op)));
  fusion.add(Search{search, key, &term, loop.keeps_any()});
  loop.add(FeedSearch{search, key, from, term.op}, from);
  loop.add_behind(Found{to, search, key, &term}, id);
  if (!id) loop.close();
}

void define_largest(Fusion& fusion, Id to, const Term& term, std::optional<VariableId> id) {
  define_search(fusion, to, term, id);
}

void define_where(Fusion& fusion, Id to, const Term& term, std::optional<VariableId>) {
  const Term& of = *term.arguments.front();
  const Id from = fusion.arrays.whole_array(of);
  const std::vector<Argument> arguments = {SizeOf{of.type()}, SizeOf{term.type()}, from, Workspace{}};
  fusion.add(Apply{to, "where", {}, arguments, "where {2}", {from}, term.op});
}

}  // namespace casync::compll::cpu_vector

namespace casync::compll::cpu_turns {

Array define_largest(Layout& layout, const Term& term, Id to, const std::optional<Place>& place) {
  const Term& of = *term.arguments.front();
  const Array from = layout.arrays.in_memory(layout.arrays.array_of(of), of.type(), {}, "`largest`");
  layout.add(Memory{to, place});
  layout.add(Apply{"find_largest",
                   {SizeOf{of.type()}, SizeOf{term.type()}, MemoryOf{*from.memory}, MemoryOf{to}, Workspace{}},
                   "memory of {3} = places of the largest of {2}"});
  layout.note("`largest`", from, of.type(), 0);
  return layout.arrays.stored(to);
}

Array define_where(Layout&, const Term& term, Id, const std::optional<Place>&) { Layout::refuse(term); }

}  // namespace casync::compll::cpu_turns

namespace casync::compll::cuda_vector {
namespace {

/// A search, and the stage from which on its key is known.
struct Planned {
  SearchId search = 0;
  std::uint32_t found = 0;
};

SpaceId take_for_tiles(Routine& plan, const std::string& word) {
  return take(plan, {.word = word, .count = Space::Count::kTiles, .bytes = 8, .zeros = Zeros::kCleared});
}

/// Plans the stages that find the least key that `largest` or `kth_largest` chooses: three, one for each digit of the
/// key. Only `largest`, which needs places, asks for the number in each tile.
Planned plan_search(Staging& staging, const Term& term, const std::string& name) {
  Routine& plan = staging.plan;
  const Term& of = *term.arguments[0];
  const bool has_places = term.op == Op::kLargest;
  Search search;
  search.name = name;
  search.term = &term;
  search.from = value_of(plan, of);
  search.selection =
      take(plan, {.word = name + "_selection", .count = Space::Count::kSelection, .zeros = Zeros::kCleared});
  if (has_places) search.told = take_for_tiles(plan, name + "_told");
  search.entries =
      take(plan, {.word = name + "_entries", .count = Space::Count::kElements, .bytes = 8, .of = of.type()});
  search.lengths = take(plan, {.word = name + "_lengths", .count = Space::Count::kWarps, .bytes = 4});
  if (has_places) {
    search.ties = take(plan, {.word = name + "_ties", .count = Space::Count::kTies, .bytes = 8});
    search.places = take(plan, {.word = name, .count = Space::Count::kElements, .bytes = 4, .of = term.type()});
  }
  if (!has_places) check(*term.arguments[1]);
  const std::uint32_t many = has_places ? 0 : ready_of_scalar(plan, *term.arguments[1]);
  const std::uint32_t stage = std::max(ready_to_share(plan, of), many);
  const auto id = static_cast<SearchId>(plan.searches.size());
  plan.searches.push_back(search);
  if (!search_input(plan, id, stage)) {
    add(plan, stage, ListLargest{id, false, {}});
    add_at_end(plan, stage, ChooseDigit{{id}, 0});
  }
  for (const std::uint32_t digit : {1u, 2u}) {
    add(plan, stage + digit, CountDigit{{id}, digit});
    add_at_end(plan, stage + digit, ChooseDigit{{id}, digit});
  }
  return {id, stage + 3};
}

}  // namespace

Id plan_largest(Staging& staging, const Term& term, const std::string& name, std::optional<VariableId>) {
  Routine& plan = staging.plan;
  const Planned planned = plan_search(staging, term, name);
  add(plan, planned.found, PickLargest{{planned.search}});
  const Address places = address_of(*plan.searches[planned.search].places, kUintType);
  return add_memory(plan, name, term.type(), places, {planned.found + 1, planned.found + 1});
}

void plan_kth_largest(Staging& staging, const Term& term) {
  Routine& plan = staging.plan;
  const std::string name = staging.temporary("kth_largest");
  const Planned planned = plan_search(staging, term, name);
  plan.of_term[&term] =
      add_value(plan, {name, term.type(), KthLargest{planned.search}, {planned.found, planned.found}});
}

Id plan_where(Staging& staging, const Term& term, const std::string& name, std::optional<VariableId>) {
  Routine& plan = staging.plan;
  const Term& of = *term.arguments[0];
  const SpaceId told = take_for_tiles(plan, name + "_told");
  const SpaceId to = take(plan, {.word = name, .count = Space::Count::kElements, .bytes = 4, .of = term.type()});
  const std::uint32_t stage = ready_to_share(plan, of);
  add(plan, stage, PickWhere{&term, value_of(plan, of), told, to});
  return add_memory(plan, name, term.type(), address_of(to, kUintType), {stage + 1, stage + 1});
}

}  // namespace casync::compll::cuda_vector
