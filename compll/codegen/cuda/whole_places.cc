// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/whole_places.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "compll/codegen/cuda/terms.h"
#include "compll/codegen/cuda/whole_routine.h"
#include "compll/codegen/text/operation_text.h"
#include "compll/lang/terms.h"

namespace casync::compll {
namespace {

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
  bool is(const Term& term, VariableId id) const { return term.op == Op::kVariable && first_name(term.variable) == id; }

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
  UsesOfChanged(const Steps& steps, const Routine& routine, VariableId array, VariableId places,
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
      if (!looks_at_places(*section)) return false;
    }
    for (const VariableId state : routine_.states_then) {
      if (state == array_) return false;
    }
    return (change == nullptr || looks_at_places(*change->value->arguments[1])) &&
           std::all_of(steps_.begin(), steps_.end(), [&](const Step* step) {
             return step == change || !reads_.any(*step->value, array_) || step->value->op == Op::kVariable ||
                    is_over(*step) || (looks_at_places(*step->value) && goes_out(*step, change));
           });
  }

 private:
  /// Returns true if the places depend on what the step stores in memory, or on values made of it and stored.
  bool is_over(const Step& step) const {
    const VariableId made = step.variables.front();
    const Op op = step.value->op;
    if (!before_.contains(made)) return false;
    if (op == Op::kLargest || op == Op::kWhere || op == Op::kBlockReduce || kept_.contains(made)) return true;
    return !step.value->type().is_array() ? reads_by_reducing(*step.value)
                                          : op == Op::kMap && step.variables.size() == 1 && is_over_for_all(made);
  }
  bool reads_by_reducing(const Term& term) const {
    if (reduces_array(term) || !reads_.any(term, array_)) return true;
    return term.op != Op::kElement && !term.function &&
           std::all_of(term.arguments.begin(), term.arguments.end(),
                       [&](const TermPtr& each) { return reads_by_reducing(*each); });
  }
  /// Returns true if all steps that read this value, computed where it is used, are over.
  bool is_over_for_all(VariableId id) const {
    const auto reads = [&](const Term& term) { return reads_.any(term, id); };
    return std::none_of(routine_.sections.begin(), routine_.sections.end(),
                        [&](const TermPtr& section) { return reads(*section); }) &&
           std::all_of(steps_.begin(), steps_.end(), [&](const Step* step) {
             if (step->value->op == Op::kVariable || !reads(*step->value)) return true;
             return UsesOfChanged(steps_, routine_, id, places_, kept_).is_over(*step);
           });
  }

  /// Returns true if the term reads the array only as `array[place]` for each of the places, if at all.
  bool looks_at_places(const Term& term) const {
    if (!reads_.any(term, array_)) return true;
    if (term.op != Op::kMap) return false;
    for (std::size_t i = 0; i < term.arguments.size(); ++i) {
      if (reads_.is(*term.arguments[i], places_) && is_gather(term, term.function->parameters[i])) return true;
    }
    return !reads_.any(*term.function, array_) &&
           std::all_of(term.arguments.begin(), term.arguments.end(),
                       [&](const TermPtr& each) { return looks_at_places(*each); });
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

  /// Returns true if the step's result for the places goes to sections and to the change, element by element.
  bool goes_out(const Step& step, const Step* change) const {
    if (step.variables.size() != 1) return false;
    const VariableId id = step.variables.front();
    for (const TermPtr& section : routine_.sections) {
      if (!is_by_element(*section, id)) return false;
    }
    return std::all_of(steps_.begin(), steps_.end(), [&](const Step* other) {
      if (!reads_.any(*other->value, id)) return true;
      if (other == change) return is_by_element(*change->value->arguments[1], id);
      return is_by_element(*other->value, id) && goes_out(*other, change);
    });
  }
  bool is_by_element(const Term& term, VariableId id) const {
    if (!reads_.any(term, id) || reads_.is(term, id)) return true;
    return term.op == Op::kMap && !reads_.any(*term.function, id) &&
           std::all_of(term.arguments.begin(), term.arguments.end(),
                       [&](const TermPtr& each) { return is_by_element(*each, id); });
  }

  const Steps& steps_;
  const Routine& routine_;
  const Reads reads_;
  const VariableId array_, places_;
  const std::set<VariableId>& kept_;
  const std::set<VariableId> before_;
};

}  // namespace

/// Goes from the last step to the first: an array that is stored for its own change ends uses of earlier arrays.
void CudaPlaces::find_changed() {
  std::set<VariableId> kept;
  for (auto at = text_.steps.rbegin(); at != text_.steps.rend(); ++at) {
    const Step& step = **at;
    const VariableId made = step.variables.front();
    const Term& term = *step.value;
    const bool scatters = (term.op == Op::kScatter || term.op == Op::kScatterAdd) && term.arguments.size() == 3;
    if (!scatters || places_.count(made) == 0 || text_.names.uses(made) != 1 || !is_distinct(*term.arguments[0]))
      continue;
    const Term &places = *term.arguments[0], &changed = *term.arguments[2];
    if (places.op != Op::kVariable || changed.op != Op::kVariable) continue;
    const VariableId array = text_.names.made_as(changed.variable);
    if (places_.count(array) != 0 || !is_made_in_memory(array)) continue;
    if (!UsesOfChanged(text_.steps, text_.routine, array, places.variable, kept).allow(&step)) continue;
    places_.emplace(array, places_.at(made));
    kept.insert(array);
    changed_.push_back(&step);
  }
}

/// Returns true if a `map` makes it and several steps read it.
bool CudaPlaces::is_made_in_memory(VariableId id) const {
  return text_.names.uses(id) > 1 && std::any_of(text_.steps.begin(), text_.steps.end(), [&](const Step* step) {
           return step->variables.size() == 1 && step->variables.front() == id && step->value->op == Op::kMap;
         });
}

bool CudaPlaces::is_changed(const Step& step) const {
  return std::find(changed_.begin(), changed_.end(), &step) != changed_.end();
}

void CudaPlaces::plan_changes() {
  for (const Step* step : changed_) {
    const Term &term = *step->value, &places = *term.arguments[0], &values = *term.arguments[1];
    text_.arrays.plan_term(values);
    made_at_place_.insert(step->variables.front());
    const std::string address = places_.at(step->variables.front()) + " at." +
                                text_.plan.value(text_.names.made_as(term.arguments[2]->variable)).name + ")";
    const std::uint32_t stage =
        std::max({text_.stages.count() - 1, text_.plan.ready_to_share(places), text_.plan.ready_to_share(values)});
    // Steps of this stage that read the places' elements have the same share of them.
    text_.stages.add(stage, [=, this, &term] {
      text_.out.line("__syncthreads();");
      write_change(term, address);
    });
  }
}

/// The places and values that a codec sends, if it does: elsewhere its residual is the encoded vector.
std::optional<CudaPlaces::Sent> CudaPlaces::places_of_residual() const {
  const Routine& decode = text_.program.decode;
  const Term& given = *decode.result;
  if (!text_.program.states.empty() || !decode.steps.empty() || given.op != Op::kScatter ||
      given.arguments.size() != 2) {
    return std::nullopt;
  }
  const auto sent = [&](const Term& term) -> const Term* {
    for (std::size_t i = 0; i < decode.extracted.size(); ++i) {
      if (term.op == Op::kVariable && decode.extracted[i] == term.variable) return text_.routine.sections[i].get();
    }
    return nullptr;
  };
  const Term *places = sent(*given.arguments[0]), *values = sent(*given.arguments[1]);
  if (places == nullptr || values == nullptr || places->op != Op::kVariable || !values->type().is_array() ||
      !is_distinct(*places)) {
    return std::nullopt;
  }
  const std::set<VariableId> none;
  const UsesOfChanged uses(text_.steps, text_.routine, text_.routine.gradient, places->variable, none);
  return uses.allow(nullptr) ? std::optional<Sent>({places, values}) : std::nullopt;
}

bool CudaPlaces::plan_residual() {
  const std::optional<Sent> sent = places_of_residual();
  if (!sent) return false;
  const Term &places = *sent->places, &values = *sent->values;
  text_.stages.add(
      std::max({text_.stages.count() - 1, text_.plan.ready_to_share(places), text_.plan.ready_to_share(values)}),
      [=, this, &places, &values] {
        const std::string at = text_.plan.array(places), from = text_.plan.array(values);
        text_.out.line("__syncthreads();");
        text_.out.line("// The residual is what was encoded, which is there, less what decoding gives.");
        text_.out.line(
            "if (part.segment.residual_out != nullptr) add_at(" + CudaNames::part_of(places.type()) + ", " +
            CudaNames::size(places.type()) + ", " + at + ", " + from +
            ", n, in_global(part.segment.residual_out), [](float a, float b) -> float { return subtract(a, b); });");
      });
  return true;
}

void CudaPlaces::want_at(VariableId id, const std::string& address) {
  places_.emplace(text_.names.made_as(id), address);
}

bool CudaPlaces::is_at_place(VariableId id, const std::string& address) const {
  const VariableId made = text_.names.made_as(id);
  return made_at_place_.count(made) != 0 && places_.at(made) == address;
}

bool CudaPlaces::is_distinct(const Term& places) const {
  const auto picks = [](const auto& self, const Routine& routine, const Term& term) -> bool {
    if (operation_of(term.op).traits.gives_distinct) return true;
    if (term.op != Op::kVariable) return false;
    for (const Step& step : routine.steps) {
      const bool here = step.variables.size() == 1 && step.variables.front() == term.variable;
      if (here) return self(self, routine, *step.value);
    }
    return false;
  };
  if (picks(picks, text_.routine, places)) return true;
  if (places.op != Op::kVariable) return false;
  for (std::size_t i = 0; i < text_.routine.extracted.size(); ++i) {
    if (text_.routine.extracted[i] != places.variable) continue;
    return picks(picks, text_.program.encode, *text_.program.encode.sections[i]) &&
           (!text_.program.merge || picks(picks, *text_.program.merge, *text_.program.merge->sections[i]));
  }
  return false;
}

std::string CudaPlaces::array_of_values(const Term& values) {
  return values.type().is_array() ? text_.plan.array(values)
                                  : "[&](uint64_t) { return " + text_.values.scalar(values) + "; }";
}

void CudaPlaces::write_change(const Term& term, const std::string& address) {
  const Term& places = *term.arguments[0];
  const ScalarType element = term.type().element;
  const bool adds = term.op == Op::kScatterAdd;
  const std::string at = text_.plan.array(places), from = array_of_values(*term.arguments[1]),
                    type = type_text(element);
  text_.out.source_line(term.at);
  std::string sum = cuda_operation(Op::kAdd, element, {"a", "b"});
  if (adds && element.is_integer() && element.bits != 32) {
    sum = cuda_conversion(kIntType, element, cuda_operation(Op::kAdd, kIntType, {"int32_t(a)", "int32_t(b)"}));
  }
  text_.out.line(std::string(adds ? "add" : "set") + "_at(" + CudaNames::part_of(places.type()) + ", " +
                 CudaNames::size(places.type()) + ", " + at + ", " + from + ", " + CudaNames::size(term.type()) + ", " +
                 address +
                 (adds ? ", [](" + type + " a, " + type + " b) -> " + type + " { return " + sum + "; }" : "") + ");");
}

std::string CudaPlaces::address_for(std::optional<VariableId> id, const std::string& word, const Type& type) {
  const bool is_wanted = id && places_.count(*id) != 0;
  if (is_wanted) made_at_place_.insert(*id);
  if (is_wanted && places_.at(*id).back() != ',') return places_.at(*id);
  const std::string own = text_.stages.place(word, cuda_bytes(CudaNames::size(type), type.element));
  return is_wanted ? places_.at(*id) + " " + own + ")" : "part.at<" + type_text(type.element) + ">(" + own + ")";
}

}  // namespace casync::compll
