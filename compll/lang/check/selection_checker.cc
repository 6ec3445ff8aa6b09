// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/check/selection_checker.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "compll/lang/check/code_checker.h"

namespace casync::compll {
namespace {

constexpr Type kOneUint{kUintType, {}};

Extent extent_of(std::uint32_t size) { return {Extent::Kind::kSized, {size, {}, {}}}; }

/// The place that is in no array, as an element of this type.
TermPtr nowhere_of(ScalarType type, Span at) {
  return type == kIntType ? make_constant(at, type, -1) : make_constant(at, type, kNowhere);
}

/// Gives the arrays of one extent another one.
struct Renaming {
  Extent from, to;

  void rename(Type& type) const {
    if (type.extent == from) type.extent = to;
  }
  void rename(Term& term) const {
    for (Type& type : term.types) rename(type);
    for (const TermPtr& argument : term.arguments) rename(*argument);
    if (!term.function) return;
    for (Step& step : term.function->steps) rename(*step.value);
    for (const TermPtr& result : term.function->results) rename(*result);
  }
};

}  // namespace

void SelectionChecker::begin_routine() {
  made_.clear();
  counts_.clear();
  places_.clear();
}

void SelectionChecker::end_routine() {
  Routine& routine = *code_.place.routine;
  std::set<VariableId> used;
  for_each_term(routine, [&](const Term& term) {
    if (term.op == Op::kVariable) used.insert(term.variable);
  });
  std::erase_if(routine.steps, [&](const Step& step) {
    const VariableId id = step.variables.front();
    return own_counts_.contains(id) && !used.contains(id);
  });
}

/// A size of its own, so that two selections do not fit together.
Extent SelectionChecker::new_extent(const Extent& all, const std::string& text) {
  std::vector<ProgramSize>& sizes = code_.program.sizes;
  const auto size = static_cast<std::uint32_t>(sizes.size());
  TermPtr most = make_term(Op::kSize, {}, kOneUint, terms(make_variable({}, 0, {kFloatType, all})));
  sizes.push_back({std::move(most), text});
  sizes_.insert(size);
  made_.insert(size);
  return extent_of(size);
}

void SelectionChecker::take_for(const Extent& made, const Extent& wanted, Term& section) {
  if (made == wanted || !is_selection(made) || !is_selection(wanted)) return;
  const std::uint32_t from = made.count.value, to = wanted.count.value;
  const std::vector<ProgramSize>& sizes = code_.program.sizes;
  const Extent most = *sizes[from].value->arguments.front()->type().extent;
  if (*sizes[to].value->arguments.front()->type().extent != most || !made_.contains(from) || counts_.contains(to))
    return;
  const Renaming renaming{made, wanted};
  for (ProgramVariable& variable : code_.program.variables) renaming.rename(variable.type);
  for (Step& step : code_.place.routine->steps) renaming.rename(*step.value);
  for (const TermPtr& sent : code_.place.routine->sections) renaming.rename(*sent);
  renaming.rename(section);
  made_.erase(from);
  for (auto* of_routine : {&counts_, &places_}) {
    auto moved = of_routine->extract(from);
    moved.key() = to;
    of_routine->insert(std::move(moved));
  }
}

TermPtr SelectionChecker::places_where(TermPtr holds, const std::string& text, Span at) {
  holds = filled(std::move(holds), 0);
  const Type type{kUintType, new_extent(*holds->type().extent, text)};
  TermPtr where = make_term(Op::kWhere, at, type, terms(std::move(holds)));
  const VariableId places = code_.variables.keep(terms(std::move(where)), "places", at).front();
  places_[type.extent->count.value] = places;
  count_extracted();
  return make_variable(at, places, type);
}

void SelectionChecker::need_none(const Term& array, Span at, const std::string& of, const std::string& hint) const {
  if (is_selection(array.type())) code_.refuse(at, of + " of as many elements as a condition holds for", hint);
}

TermPtr SelectionChecker::count_of(const Extent& extent, Span at) {
  const auto known = counts_.find(extent.count.value);
  if (known != counts_.end()) return make_variable(at, known->second, kOneUint);
  code_.refuse(at, "nobody has sent how many elements " + code_.sizes.text_of(extent) + " gave",
               "`encode` sends it as a section: `compressed = concat(places.size, places, values);`");
}

std::optional<Extent> SelectionChecker::counted_by(const Term& size) const {
  const ScalarType type = size.type().element;
  if (size.op == Op::kConvert && type.is_integer() && type.bits == 32) return counted_by(*size.arguments.front());
  if (size.op != Op::kVariable) return {};
  for (const auto& [of, count] : counts_) {
    if (count == size.variable) return extent_of(of);
  }
  const auto& elements = code_.variables.elements();
  const auto made = elements.find(size.variable);
  return made == elements.end() ? std::nullopt : counted_by(*made->second);
}

TermPtr SelectionChecker::element_of(TermPtr array, TermPtr index, Span at) {
  const Type type = array->type();
  const Fill fill = fill_of(*array);
  if (!is_selection(type) || (fill && *fill == Scalar())) {
    return ExpressionChecker::element_of(std::move(array), std::move(index), at);
  }
  const ScalarType whole = common_type(index->type().element, index->type().element);
  index = convert(std::move(index), whole);
  const VariableId kept = code_.variables.keep(terms(std::move(index)), "index", at).front();
  const auto place = [&] { return make_variable(at, kept, {whole, {}}); };
  // A negative index becomes 0, where there is an element or none: there the array's own answer is 0.
  TermPtr is_there =
      make_term(Op::kLess, at, {kBoolType, {}}, terms(convert(place(), kUintType), count_of(*type.extent, at)));
  return make_select(at, std::move(is_there), ExpressionChecker::element_of(std::move(array), place(), at),
                     make_constant(at, type.element, 0));
}

TermPtr SelectionChecker::filled(TermPtr array, double fill) {
  const ScalarType type = array->type().element;
  const Fill known = fill_of(*array);
  if (!is_selection(array->type()) || (known && *known == Scalar::of(type, fill))) return array;
  const Span at = array->at;
  return filled(std::move(array), type, make_constant(at, type, fill));
}

/// map(array, range(count), [&](x, uint i) -> { return i < count ? x : fill; })
TermPtr SelectionChecker::filled(TermPtr array, ScalarType type, TermPtr fill) {
  Variables& variables = code_.variables;
  const Span at = array->at;
  const Type of = array->type();
  const Extent extent = *of.extent;
  TermPtr count = count_of(extent, at);
  auto body = std::make_unique<Body>();
  body->parameters = {variables.new_variable("x", {of.element, {}}, at),
                      variables.new_variable("i", {kIntType, {}}, at)};
  TermPtr x = make_variable(at, body->parameters[0], {of.element, {}});
  TermPtr index = make_variable(at, body->parameters[1], {kIntType, {}});
  TermPtr is_there =
      make_term(Op::kLess, at, {kBoolType, {}}, terms(convert(std::move(index), kUintType), std::move(count)));
  body->results = terms(make_select(at, std::move(is_there), convert(std::move(x), type), std::move(fill)));
  TermPtr places = make_term(Op::kRange, at, {kIntType, extent});
  TermPtr map = make_term(Op::kMap, at, {type, extent}, terms(std::move(array), std::move(places)));
  map->function = std::move(body);
  return map;
}

TermPtr SelectionChecker::filled_places(TermPtr places) {
  const ScalarType type = places->type().element;
  const Fill known = fill_of(*places);
  if (!is_selection(places->type()) || (known && is_nowhere(*known, type))) return places;
  const ScalarType whole = common_type(type, type);
  const Span at = places->at;
  return filled(std::move(places), whole, nowhere_of(whole, at));
}

TermPtr SelectionChecker::places_as_ints(TermPtr places) {
  const Span at = places->at;
  const Type type{kIntType, places->type().extent};
  auto body = std::make_unique<Body>();
  body->parameters = {code_.variables.new_variable("place", kOneUint, at)};
  const auto place = [&] { return make_variable(at, body->parameters.front(), kOneUint); };
  TermPtr none = make_term(Op::kEqual, at, {kBoolType, {}}, terms(place(), make_constant(at, kUintType, kNowhere)));
  body->results = terms(make_select(at, std::move(none), make_constant(at, kIntType, -1), convert(place(), kIntType)));
  TermPtr map = make_term(Op::kMap, at, type, terms(std::move(places)));
  map->function = std::move(body);
  return map;
}

Fill SelectionChecker::fill_of(const Term& array) const {
  if (!is_selection(array.type())) return {};
  if (array.op == Op::kWhere) return Scalar::of_uint(kNowhere);
  if (array.op == Op::kVariable) {
    const auto found = fills_.find(array.variable);
    return found == fills_.end() ? Fill() : found->second;
  }
  if (array.op != Op::kMap) return {};
  std::vector<Fill> arguments;
  for (const TermPtr& argument : array.arguments) arguments.push_back(fill_of(*argument));
  return fills_of(*array.function, arguments).front();
}

void SelectionChecker::note(const Step& step) {
  const Term& value = *step.value;
  if (!is_selection(value.type())) return;
  if (step.variables.size() == 1) {
    fills_[step.variables.front()] = fill_of(value);
    return;
  }
  std::vector<Fill> arguments;
  for (const TermPtr& argument : value.arguments) arguments.push_back(fill_of(*argument));
  const std::vector<Fill> fills = fills_of(*value.function, arguments);
  for (std::size_t i = 0; i < step.variables.size(); ++i) fills_[step.variables[i]] = fills[i];
}

void SelectionChecker::note_extracted(VariableId variable, const Type& type, const Fill& fill) {
  if (!is_selection(type)) return;
  fills_[variable] = fill;
  if (fill && type.element.is_integer() && is_nowhere(*fill, type.element)) {
    places_.emplace(type.extent->count.value, variable);
  }
}

void SelectionChecker::note_count(const Extent& extent, VariableId variable) {
  const Type type = code_.program.variables[variable].type;
  const Span at = code_.program.variables[variable].at;
  if (type.element != kUintType) {
    variable = code_.variables.keep(terms(convert(make_variable(at, variable, type), kUintType)), "count", at).front();
  }
  counts_.emplace(extent.count.value, variable);
}

/// reduce(map(places, [&](place) -> uint { return is somewhere; }), count)
void SelectionChecker::count_extracted() {
  for (const auto& [size, places] : places_) {
    if (counts_.contains(size)) continue;
    const ProgramVariable variable = code_.program.variables[places];
    const ScalarType type = variable.type.element;
    const Span at = variable.at;
    auto body = std::make_unique<Body>();
    body->parameters = {code_.variables.new_variable("place", {type, {}}, at)};
    TermPtr place = make_variable(at, body->parameters.front(), {type, {}});
    TermPtr nowhere = nowhere_of(type, at);
    TermPtr found = make_term(Op::kUnequal, at, {kBoolType, {}}, terms(std::move(place), std::move(nowhere)));
    body->results = terms(convert(std::move(found), kUintType));
    TermPtr map =
        make_term(Op::kMap, at, {kUintType, variable.type.extent}, terms(make_variable(at, places, variable.type)));
    map->function = std::move(body);
    TermPtr count = make_term(Op::kReduce, at, kOneUint, terms(std::move(map)));
    count->reducer = Reducer::kCount;
    const VariableId counted = code_.variables.keep(terms(std::move(count)), "count", at).front();
    counts_[size] = counted;
    own_counts_.insert(counted);
  }
}

}  // namespace casync::compll
