// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/cpu/storage.h"

#include <algorithm>

#include "compll/ir/vector/cpu/uses.h"
#include "compll/lang/terms.h"

namespace casync::compll::cpu_vector {
namespace {

// An array that costs more operations than this is computed once if it is used more than once.
constexpr std::size_t kCheap = 60;
// A function of more operations than this is called: a call for sixteen elements costs little compared with them, and
// g++ takes time by the square of a routine's length, most of it in following its stores ("alias stmt walking").
constexpr std::size_t kShort = 96;
// Operations that drawing a random number counts as: drawn once, it is in memory.
constexpr std::size_t kRandomCost = 8;

/// Returns true if the function is only the element of an array at a place.
bool is_gather(const Body& body) {
  if (body.parameters.size() != 1 || body.results.size() != 1 || !body.steps.empty()) return false;
  const Term& result = *body.results.front();
  if (result.op != Op::kElement || result.arguments[0]->op != Op::kVariable) return false;
  const Term* index = result.arguments[1].get();
  if (index->op == Op::kConvert) index = index->arguments[0].get();
  return index->op == Op::kVariable && index->variable == body.parameters.front();
}

class StorageChoice {
 public:
  explicit StorageChoice(Routine& plan) : plan_(plan) {}

  void run() {
    // Maps without a variable; those with one are chosen again below.
    for_each_term(*plan_.routine, [&](const Term& each) {
      if (each.op == Op::kMap) plan_.storage[&each] = storage(each, {});
    });
    for (const Step& step : plan_.routine->steps) choose(step);
  }

 private:
  void choose(const Step& step) {
    const Term& term = *step.value;
    const VariableId first = step.variables.front();
    if (term.op == Op::kVariable) {
      cost_[first] = cost_[term.variable];
      return;
    }
    if (term.op != Op::kMap || uses_of(plan_, step) == 0) return;
    if (step.variables.size() > 1) return choose_parts(step);
    const Storage chosen = storage(term, first);
    plan_.storage[&term] = chosen;
    cost_[first] = chosen == Storage::kNowhere ? cost(term) : 0;
  }

  void choose_parts(const Step& step) {
    const Term& term = *step.value;
    for (const VariableId id : step.variables) {
      if (plan_.uses[id] == 0) continue;
      const bool keep = !term.type().is_over(Extent::Kind::kElements) || is_used_again(id, term);
      if (keep) plan_.kept_parts.insert(id);
      cost_[id] = keep ? 0 : cost(term);
    }
  }

  Storage storage(const Term& term, std::optional<VariableId> id) const {
    const bool of_blocks = term.type().is_over(Extent::Kind::kBlocks);
    const bool once = !id && !of_blocks && !reads_elsewhere(*term.function);
    const bool of_elements = term.type().is_over(Extent::Kind::kElements);
    if (once || (of_elements && !(id && is_used_again(*id, term)))) return Storage::kNowhere;
    if (of_blocks) return Storage::kBlocks;
    return is_gather(*term.function) ? Storage::kGathered : Storage::kMemory;
  }

  /// The rough number of operations for an element.
  std::size_t cost(const Term& term) const {
    if (term.op == Op::kVariable) {
      const auto found = cost_.find(term.variable);
      return found == cost_.end() ? 0 : found->second;
    }
    if (term.op != Op::kMap) return 0;
    std::size_t all = 0;
    for (const TermPtr& argument : term.arguments) all += cost(*argument);
    for_each_term(*term.function, [&](const Term& each) { all += is_random(each) ? kRandomCost : 1; });
    return all;
  }

  /// Returns true if the elements of a variable's array are better computed once. Picking sixteen of them is the map's
  /// text sixteen times, and as often again for each map in between that is picked from alike.
  bool is_used_again(VariableId id, const Term& term) const {
    return plan_.picks[id] > 1 || (cost(term) > kCheap && plan_.uses[id] > 1);
  }

  Routine& plan_;
  std::map<VariableId, std::size_t> cost_;  ///< operations for an element of a variable's array
};

/// Returns true if sixteen doubles have all operations of the term: a single double has more.
bool serves_sixteen(const Term& term) {
  const auto is_double = [](const TermPtr& argument) { return argument->type().element == kDoubleType; };
  const bool any =
      term.type().element == kDoubleType || std::any_of(term.arguments.begin(), term.arguments.end(), is_double);
  if (!any) return true;
  switch (term.op) {
    case Op::kConstant:
    case Op::kVariable:
    case Op::kParameter:
    case Op::kElement:
    case Op::kAdd:
    case Op::kSubtract:
    case Op::kMultiply:
    case Op::kDivide: return true;
    case Op::kConvert: {
      const ScalarType from = term.arguments[0]->type().element, to = term.type().element;
      return to == from || (to == kDoubleType && from != kBoolType) || to == kFloatType;
    }
    default: return false;
  }
}

}  // namespace

bool reads_elsewhere(const Body& body) {
  bool any = false;
  for_each_term(body, [&](const Term& each) { any |= each.op == Op::kElement; });
  return any;
}

void choose_storage(Routine& plan) { StorageChoice(plan).run(); }

void find_widths(Routine& plan) {
  for_each_term(*plan.routine, [&](const Term& term) {
    if (term.op != Op::kMap) return;
    bool all = true;
    std::size_t operations = 0;
    for_each_term(*term.function, [&](const Term& each) {
      all &= serves_sixteen(each);
      ++operations;
    });
    if (!all) plan.one_by_one.insert(&term);
    if (all && operations > kShort) plan.called.insert(&term);
  });
}

}  // namespace casync::compll::cpu_vector
