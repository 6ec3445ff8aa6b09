// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/cuda/input.h"

#include <algorithm>
#include <utility>

#include "compll/ir/vector/cuda/ready.h"
#include "compll/ir/vector/cuda/tasks.h"
#include "compll/lang/terms.h"

namespace casync::compll::cuda_vector {
namespace {

/// Returns true if an element is made of the input's element of the same place, and of no other array in memory.
bool is_made_of_input(const Routine& plan, const Term& term) {
  if (term.op == Op::kVariable) {
    if (term.variable == plan.routine->gradient) return true;
    const std::optional<Id> value = find_value(plan, term.variable);
    if (!value || !plan.values[*value].is_computed()) return false;
    for (const compll::Step* step : plan.steps) {
      if (step->variables.front() == term.variable) return is_made_of_input(plan, *step->value);
    }
    return false;
  }
  if (term.op == Op::kRange) return true;
  if (term.op != Op::kMap) return false;
  bool reads_elsewhere = false;
  for_each_term(*term.function, [&](const Term& each) { reads_elsewhere |= each.op == Op::kElement; });
  return !reads_elsewhere && std::all_of(term.arguments.begin(), term.arguments.end(),
                                         [&](const TermPtr& each) { return is_made_of_input(plan, *each); });
}

/// The search that takes the input; null if none does.
template <class Tasks>
auto* search_of_input(Tasks& tasks) {
  auto* list = tasks.empty() ? nullptr : std::get_if<ListLargest>(&tasks.front().work);
  return list != nullptr && list->takes_input ? list : nullptr;
}

}  // namespace

void plan_input(Routine& plan) { add_own(plan, 0, TakeInput{}); }

bool search_input(Routine& plan, SearchId search, std::uint32_t stage) {
  const Term& of = *plan.searches[search].term->arguments[0];
  const bool is_open = !plan.tasks.empty() && std::holds_alternative<TakeInput>(plan.tasks.front().work);
  if (stage != 0 || !is_open || !of.type().is_over(Extent::Kind::kElements) || !is_made_of_input(plan, of)) {
    return false;
  }
  plan.tasks.front() = {0, ListLargest{search, true, {}}};
  plan.tasks.insert(plan.tasks.begin() + 1, {0, ChooseDigit{{search}, 0}, true});
  return true;
}

bool is_reduced_with_input(const Routine& plan, const Term& reduction, std::uint32_t stage) {
  const Term& of = *reduction.arguments[0];
  return search_of_input(plan.tasks) != nullptr && stage == 0 && of.type().is_over(Extent::Kind::kElements) &&
         is_made_of_input(plan, of) && plan.conditions.count(&reduction) == 0;
}

void reduce_with_input(Routine& plan, FedReducer reducer) {
  search_of_input(plan.tasks)->fed.push_back(std::move(reducer));
}

}  // namespace casync::compll::cuda_vector
