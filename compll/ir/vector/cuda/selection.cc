// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/cuda/selection.h"

#include <algorithm>

#include "compll/ir/vector/cuda/input.h"
#include "compll/ir/vector/cuda/ready.h"
#include "compll/ir/vector/cuda/staging.h"
#include "compll/ir/vector/cuda/tasks.h"

namespace casync::compll::cuda_whole {
namespace {

SpaceId take_for_tiles(Routine& plan, const std::string& word) {
  return take(plan, {.word = word, .count = Space::Count::kTiles, .bytes = 8, .zeros = Zeros::kCleared});
}

}  // namespace

/// Plans the stages that find the least key that `largest` or `kth_largest` chooses. Only `largest`, which needs
/// places, asks for the number in each tile.
Selection::Planned Selection::plan_search(const Term& term, const std::string& name) {
  Routine& plan = staging_.plan;
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

Id Selection::plan_largest(const Term& term, const std::string& name) {
  Routine& plan = staging_.plan;
  const Planned planned = plan_search(term, name);
  add(plan, planned.found, PickLargest{{planned.search}});
  const Address places = address_of(*plan.searches[planned.search].places, kUintType);
  return add_memory(plan, name, term.type(), places, {planned.found + 1, planned.found + 1});
}

void Selection::plan_kth_largest(const Term& term) {
  Routine& plan = staging_.plan;
  const std::string name = staging_.temporary("kth_largest");
  const Planned planned = plan_search(term, name);
  plan.of_term[&term] =
      add_value(plan, {name, term.type(), KthLargest{planned.search}, {planned.found, planned.found}});
}

Id Selection::plan_where(const Term& term, const std::string& name) {
  Routine& plan = staging_.plan;
  const Term& of = *term.arguments[0];
  const SpaceId told = take_for_tiles(plan, name + "_told");
  const SpaceId to = take(plan, {.word = name, .count = Space::Count::kElements, .bytes = 4, .of = term.type()});
  const std::uint32_t stage = ready(plan, of).own;
  add(plan, stage, PickWhere{&term, value_of(plan, of), told, to});
  return add_memory(plan, name, term.type(), address_of(to, kUintType), {stage + 1, stage + 1});
}

}  // namespace casync::compll::cuda_whole
