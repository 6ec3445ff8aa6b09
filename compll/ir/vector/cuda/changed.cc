// SPDX-License-Identifier: Apache-2.0
//
// Finds out if an array can be changed where it lies, as in
//
//   all = map(...);  place = largest(all, ...);  value = gather(all, place);  left = scatter(place, 0, all);
//
// where `left` is a state. The copy of `all` is then left out: `all` is made in the memory of the state, and the change
// is work of the last stage. Each other use of `all` has to be of one of two kinds:
//
// - The places depend on its result, as those of `largest` do. Then it lies in an earlier stage: is_over().
// - It reads the elements at the places that are changed and no others, and its result goes to sections and to the
//   change alone: reads_places_only() and is_only_sent(). Then it comes ahead of the change in the last stage, and the
//   tile that reads an element is the one that changes it.
#include "compll/ir/vector/cuda/changed.h"

#include <algorithm>
#include <map>
#include <vector>

#include "compll/ir/vector/distinct_places.h"
#include "compll/lang/terms.h"

namespace casync::compll::cuda_vector {
namespace {

using compll::Step;
using Steps = std::vector<const Step*>;

/// The steps of a routine, in which a variable may have several names.
class Reads {
 public:
  explicit Reads(const Steps& steps) : steps_(steps) {}

  /// The step that makes the variable; null: a parameter of the routine.
  const Step* step_of(VariableId id) const {
    for (const Step* step : steps_) {
      if (std::find(step->variables.begin(), step->variables.end(), id) != step->variables.end()) return step;
    }
    return nullptr;
  }
  /// Returns true if the variable is another name of `id`, or `id` itself.
  bool is(VariableId variable, VariableId id) const { return first_name(variable) == id; }
  bool is(const Term& term, VariableId id) const { return term.op == Op::kVariable && is(term.variable, id); }

  /// Calls visit(term) for all terms that are read; a variable's size is not.
  template <class Visit>
  void for_each(const Term& term, const Visit& visit) const {
    if (term.op == Op::kSize) return;
    visit(term);
    for (const TermPtr& argument : term.arguments) for_each(*argument, visit);
    if (term.function) for_each(*term.function, visit);
  }
  template <class Visit>
  void for_each(const Body& body, const Visit& visit) const {
    for (const Step& step : body.steps) for_each(*step.value, visit);
    for (const TermPtr& result : body.results) for_each(*result, visit);
  }
  template <class Code>
  bool any(const Code& code, VariableId id) const {
    bool found = false;
    for_each(code, [&](const Term& each) { found = found || is(each, id); });
    return found;
  }

  /// The variable itself, and all variables that it is made of.
  std::set<VariableId> made_of(VariableId id) const {
    std::set<VariableId> all;
    Steps::size_type done = 0;
    std::vector<VariableId> open = {id};
    for (; done < open.size(); ++done) {
      const Step* step = all.insert(open[done]).second ? step_of(open[done]) : nullptr;
      if (step == nullptr) continue;
      for_each(*step->value, [&](const Term& each) {
        if (each.op == Op::kVariable) open.push_back(each.variable);
      });
    }
    return all;
  }

 private:
  VariableId first_name(VariableId id) const {
    const Step* step = step_of(id);
    return step != nullptr && step->value->op == Op::kVariable ? first_name(step->value->variable) : id;
  }

  const Steps& steps_;
};

/// The uses of an array that is to be changed at `places` by a step, or by none.
class UsesOfChanged {
 public:
  /// `kept`: variables whose arrays a `map` stores in memory.
  UsesOfChanged(const Steps& steps, const compll::Routine& routine, VariableId array, VariableId places,
                const std::set<VariableId>& kept)
      : steps_(steps),
        routine_(routine),
        reads_(steps),
        array_(array),
        places_(places),
        kept_(kept),
        before_(reads_.made_of(places)) {}

  /// Returns true if all uses are over when `change` can begin, or read nothing but the places that are changed.
  bool allow(const Step* change) const {
    for (const TermPtr& section : routine_.sections) {
      if (!reads_places_only(*section)) return false;
    }
    if (is_state(array_)) return false;
    return (change == nullptr || reads_places_only(*change->value->arguments[1])) &&
           std::all_of(steps_.begin(), steps_.end(), [&](const Step* step) {
             return step == change || !reads_.any(*step->value, array_) || step->value->op == Op::kVariable ||
                    is_over(*step) || (reads_places_only(*step->value) && is_only_sent(*step, change));
           });
  }

 private:
  /// Returns true if the places depend on the step's result, and that is stored in memory or is a single value, or all
  /// steps that read it are over.
  bool is_over(const Step& step) const {
    const VariableId made = step.variables.front();
    const Op op = step.value->op;
    if (!before_.contains(made)) return false;
    if (op == Op::kLargest || op == Op::kWhere || op == Op::kBlockReduce || kept_.contains(made)) return true;
    return !step.value->type().is_array() ? reads_by_reducing(*step.value)
                                          : op == Op::kMap && step.variables.size() == 1 && are_readers_over(made);
  }
  bool reads_by_reducing(const Term& term) const {
    if (reduces_array(term) || !reads_.any(term, array_)) return true;
    return term.op != Op::kElement && !term.function &&
           std::all_of(term.arguments.begin(), term.arguments.end(),
                       [&](const TermPtr& each) { return reads_by_reducing(*each); });
  }
  /// Returns true if all steps that read this value, computed where it is used, are over.
  bool are_readers_over(VariableId id) const {
    const auto reads = [&](const Term& term) { return reads_.any(term, id); };
    return std::none_of(routine_.sections.begin(), routine_.sections.end(),
                        [&](const TermPtr& section) { return reads(*section); }) &&
           std::all_of(steps_.begin(), steps_.end(), [&](const Step* step) {
             if (step->value->op == Op::kVariable || !reads(*step->value)) return true;
             return UsesOfChanged(steps_, routine_, id, places_, kept_).is_over(*step);
           });
  }

  /// Returns true if the term reads the array only as `array[place]` for each of the places, if at all.
  bool reads_places_only(const Term& term) const {
    if (!reads_.any(term, array_)) return true;
    if (term.op != Op::kMap) return false;
    for (std::size_t i = 0; i < term.arguments.size(); ++i) {
      if (reads_.is(*term.arguments[i], places_) && is_gather(term, term.function->parameters[i])) return true;
    }
    return !reads_.any(*term.function, array_) &&
           std::all_of(term.arguments.begin(), term.arguments.end(),
                       [&](const TermPtr& each) { return reads_places_only(*each); });
  }
  bool is_gather(const Term& map, VariableId place) const {
    std::size_t reads = 0, at_place = 0;
    reads_.for_each(map, [&](const Term& each) {
      reads += reads_.is(each, array_) ? 1 : 0;
      if (each.op != Op::kElement || !reads_.is(*each.arguments[0], array_)) return;
      const Term* at = each.arguments[1].get();
      while (at->op == Op::kConvert) at = at->arguments[0].get();
      at_place += reads_.is(*at, place) ? 1 : 0;
    });
    return reads == at_place;
  }

  /// Returns true if the variable is a state's new value, which is stored after the change.
  bool is_state(VariableId id) const {
    return std::any_of(routine_.states_then.begin(), routine_.states_then.end(),
                       [&](VariableId state) { return reads_.is(state, id); });
  }

  /// Returns true if the step's result for the places goes to sections and to the change, element by element, and
  /// nowhere else.
  bool is_only_sent(const Step& step, const Step* change) const {
    // A step that two others read is asked for by both.
    const auto known = only_sent_.find(&step);
    if (known != only_sent_.end()) return known->second;
    return only_sent_[&step] = find_only_sent(step, change);
  }
  bool find_only_sent(const Step& step, const Step* change) const {
    if (step.variables.size() != 1) return false;
    const VariableId id = step.variables.front();
    if (is_state(id)) return false;
    for (const TermPtr& section : routine_.sections) {
      if (!is_by_element(*section, id)) return false;
    }
    return std::all_of(steps_.begin(), steps_.end(), [&](const Step* other) {
      if (!reads_.any(*other->value, id)) return true;
      if (other == change) return is_by_element(*change->value->arguments[1], id);
      return is_by_element(*other->value, id) && is_only_sent(*other, change);
    });
  }
  bool is_by_element(const Term& term, VariableId id) const {
    if (!reads_.any(term, id) || reads_.is(term, id)) return true;
    return term.op == Op::kMap && !reads_.any(*term.function, id) &&
           std::all_of(term.arguments.begin(), term.arguments.end(),
                       [&](const TermPtr& each) { return is_by_element(*each, id); });
  }

  const Steps& steps_;
  const compll::Routine& routine_;
  const Reads reads_;
  const VariableId array_, places_;
  const std::set<VariableId>& kept_;
  const std::set<VariableId> before_;
  mutable std::map<const Step*, bool> only_sent_;  ///< is_only_sent(), whose `change` is that of allow() for all steps
};

}  // namespace

bool can_change(const Routine& plan, const ArrayChange& change, const std::set<VariableId>& kept) {
  return UsesOfChanged(plan.steps, *plan.routine, change.array, change.places, kept).allow(change.step);
}

bool is_distinct(const Routine& plan, const Term& places) {
  return gives_distinct_places(*plan.routine, places) || receives_distinct_places(*plan.program, *plan.routine, places);
}

std::optional<SentElements> sent_elements(const Routine& plan) {
  const compll::Routine& decode = plan.program->decode;
  const Term& given = *decode.result;
  if (!plan.program->states.empty() || !decode.steps.empty() || given.op != Op::kScatter ||
      given.arguments.size() != 2) {
    return std::nullopt;
  }
  const auto sent = [&](const Term& term) -> const Term* {
    for (std::size_t i = 0; i < decode.extracted.size(); ++i) {
      if (term.op == Op::kVariable && decode.extracted[i] == term.variable) return plan.routine->sections[i].get();
    }
    return nullptr;
  };
  const Term *places = sent(*given.arguments[0]), *values = sent(*given.arguments[1]);
  if (places == nullptr || values == nullptr || places->op != Op::kVariable || !values->type().is_array() ||
      !is_distinct(plan, *places)) {
    return std::nullopt;
  }
  if (!can_change(plan, {plan.routine->gradient, places->variable, nullptr}, {})) return std::nullopt;
  return SentElements{places, values};
}

}  // namespace casync::compll::cuda_vector
