// SPDX-License-Identifier: Apache-2.0
//
// The plans of operators that move elements.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compll/ir/rounds/cpu/layout.h"
#include "compll/ir/rounds/cpu/operators.h"
#include "compll/ir/vector/cpu/fuse_loops.h"
#include "compll/ir/vector/cpu/operators.h"
#include "compll/ir/vector/cuda/changed.h"
#include "compll/ir/vector/cuda/operators.h"
#include "compll/ir/vector/cuda/ready.h"
#include "compll/ir/vector/cuda/staging.h"
#include "compll/ir/vector/cuda/tasks.h"
#include "compll/lang/terms.h"

namespace casync::compll::cpu_vector {
namespace {

/// `scatter` and `scatter_add`.
void scatter(Fusion& fusion, Id to, const Term& term, std::optional<VariableId> id) {
  const Id places = fusion.arrays.whole_array(*term.arguments[0]);
  const std::optional<Id> values = fusion.singles.values(term);
  if (!fusion.copies.take_copy(id)) {
    std::optional<Id> into;
    if (term.arguments.size() > 2) into = fusion.arrays.whole_array(*term.arguments[2]);
    fusion.add(ScatterMemory{to, into, fusion.copies.take(id)});
  }
  fusion.add(Scatter{to, places, values, &term});
}

}  // namespace

void define_sort(Fusion& fusion, Id to, const Term& term, std::optional<VariableId>) {
  const Term& of = *term.arguments.front();
  const ScalarType element = term.type().element;
  const Id from = fusion.arrays.whole_array(of);
  std::vector<Argument> arguments = {SizeOf{of.type()}, from, Workspace{}, LessOf{element}};
  if (term.function) arguments.back() = fusion.singles.function(term);
  const std::string words = term.function ? "sort {1} by {3}" : "sort {1}";
  fusion.add(Apply{to, "sorted", element, std::move(arguments), words, {from}, term.op});
}

void define_scatter(Fusion& fusion, Id to, const Term& term, std::optional<VariableId> id) {
  scatter(fusion, to, term, id);
}

void define_scatter_add(Fusion& fusion, Id to, const Term& term, std::optional<VariableId> id) {
  scatter(fusion, to, term, id);
}

void define_hadamard(Fusion& fusion, Id to, const Term& term, std::optional<VariableId>) {
  const Term& of = *term.arguments.front();
  if (!of.type().is_over(Extent::Kind::kElements)) {
    const Id from = fusion.arrays.whole_array(of);
    fusion.add(RotatedMemory{to});
    return fusion.add(Rotate{to, from, term.block});
  }
  const Id from = fusion.arrays.array(of);
  fusion.add(RotatedMemory{to});
  fusion.loop.add_of_blocks(to, RotateBlocks{to, from, term.block}, fusion.loop.level(from), term.block);
  fusion.loop.keep();
}

}  // namespace casync::compll::cpu_vector

namespace casync::compll::cpu_turns {
namespace {

/// `scatter` and `scatter_add`.
Array scatter(Layout& layout, const Term& term, Id to, const std::optional<Place>& place) {
  const Array places = layout.arrays.settled(*term.arguments[0]);
  const Term& given = *term.arguments[1];
  std::optional<Id> values;
  if (given.type().is_array()) {
    values = layout.arrays.settled(given).id;
  } else {
    layout.singles.lay_out(given);
  }
  const std::string what = "`" + std::string(name_of(term.op)) + "`";
  if (term.arguments.size() > 2) {
    const Array into = layout.arrays.array_of(*term.arguments[2]);
    layout.add(Memory{to, place});
    layout.arrays.fill(into, term.type(), to, what);
  } else {
    layout.add(Memory{to, place});
    layout.add(Zeros{to});
    layout.note(what, {}, term.type(), 4);
  }
  layout.add(Scatter{to, places.id, values, &term});
  Array made = layout.arrays.stored(to);
  if (term.type().is_over(Extent::Kind::kElements)) made.reads.insert(to);
  return made;
}

}  // namespace

Array define_sort(Layout&, const Term& term, Id, const std::optional<Place>&) { Layout::refuse(term); }

Array define_scatter(Layout& layout, const Term& term, Id to, const std::optional<Place>& place) {
  return scatter(layout, term, to, place);
}

Array define_scatter_add(Layout& layout, const Term& term, Id to, const std::optional<Place>& place) {
  return scatter(layout, term, to, place);
}

Array define_hadamard(Layout&, const Term& term, Id, const std::optional<Place>&) { Layout::refuse(term); }

}  // namespace casync::compll::cpu_turns

namespace casync::compll::cuda_vector {
namespace {

/// Returns true if the function compares the two numbers themselves: `a < b`, or `a > b`.
bool compares_numbers(const Term& term) {
  const ScalarType element = term.type().element;
  if (element == kDoubleType || element == kBoolType) return false;
  if (!term.function) return true;
  const Body& body = *term.function;
  const auto made_of = [&](const Term* each) {
    for (std::size_t i = body.steps.size(); i-- > 0;) {
      const bool makes = each->op == Op::kVariable && body.steps[i].variables.front() == each->variable;
      if (makes) each = body.steps[i].value.get();
    }
    return each;
  };
  const Term& result = *made_of(body.results.front().get());
  if (result.op != Op::kLess) return false;
  std::set<VariableId> sides;
  for (const TermPtr& side : result.arguments) {
    const Term& from = *made_of(side.get());
    if (from.op == Op::kVariable) sides.insert(from.variable);
  }
  return sides == std::set<VariableId>(body.parameters.begin(), body.parameters.end());
}

/// The values of a scatter; of one value everywhere none.
std::optional<Id> values_of(const Routine& plan, const Term& values) {
  if (values.type().is_array()) return value_of(plan, values);
  check(values);
  return std::nullopt;
}

/// Plans a scatter whose places may be there twice: the last of them holds.
Id plan_repeated(Staging& staging, const Term& term, const std::string& name, const Address& to) {
  Routine& plan = staging.plan;
  const Type& type = term.type();
  const Term &places = *term.arguments[0], &values = *term.arguments[1];
  if (term.op == Op::kScatterAdd) refuse(term.at, "`scatter_add` at places that may be there twice");
  std::optional<Id> into;
  if (term.arguments.size() > 2) into = value_of(plan, *term.arguments[2]);
  const std::uint32_t before = into ? ready_to_share(plan, *term.arguments[2]) : 0;
  const SpaceId last =
      take(plan,
           {.word = name + "_last", .count = Space::Count::kElements, .bytes = 4, .of = type, .zeros = Zeros::kByStep});
  const std::uint32_t found = ready_to_share(plan, places);
  add(plan, found,
      Apply{"find_last",
            {ShareOf{places.type()}, SizeOf{places.type()}, ElementsOf{value_of(plan, places)}, SizeOf{type},
             MemoryOf{last, kUintType}},
            "find the last of equal places {2} into {4}"});
  const std::uint32_t stage = std::max({found + 1, before, ready(plan, values).all});
  add(plan, stage, FillFromLast{&term, name, values_of(plan, values), into, to, last});
  return add_memory(plan, name, type, to, ready_by_shares(type, stage));
}

/// `scatter` and `scatter_add`.
Id scatter(Staging& staging, const Term& term, const std::string& name, std::optional<VariableId> id) {
  Routine& plan = staging.plan;
  const Type& type = term.type();
  const Term &places = *term.arguments[0], &values = *term.arguments[1];
  const Term* into = term.arguments.size() > 2 ? term.arguments[2].get() : nullptr;
  const Address to = address_for(plan, id, name, type);
  if (!is_distinct(plan, places)) return plan_repeated(staging, term, name, to);
  const std::uint32_t before = into != nullptr ? ready_to_share(plan, *into) : 0;
  Fill fill{.from = {}, .type = type, .to = to, .evenly = is_shared_evenly(type), .waits = true, .at = term.at};
  if (into != nullptr) fill.from = value_of(plan, *into);
  add(plan, before, fill);
  const std::uint32_t stage = std::max({before + 1, ready_to_share(plan, places), ready_to_share(plan, values)});
  add(plan, stage, Change{&term, value_of(plan, places), values_of(plan, values), to, false});
  return add_memory(plan, name, type, to, {stage + 1, stage + 1});
}

}  // namespace

Id plan_sort(Staging& staging, const Term& term, const std::string& name, std::optional<VariableId>) {
  Routine& plan = staging.plan;
  const Term& of = *term.arguments[0];
  const Type& type = term.type();
  const SpaceId to = take_elements(plan, name, type);
  const SpaceId spare = take_elements(plan, name + "_spare", type);
  const SizeOf size{type};
  const ElementsOf elements{value_of(plan, of)};
  const BeforeOf before{&term, name + "_before"};
  const auto in = [&](SpaceId space) { return MemoryOf{space, type.element}; };
  std::uint32_t stage = ready(plan, of).all;
  if (term.function) {
    check(*term.function);
    stage = std::max(stage, ready_of_function(plan, *term.function));
  }
  if (compares_numbers(term)) {
    const SpaceId runs = take_elements(plan, name + "_runs", type);
    const SpaceId has_nan = take(plan, {.word = name + "_has_nan", .bytes = 4, .zeros = Zeros::kCleared});
    const MemoryOf nan{has_nan, kUintType};
    add(plan, stage, Apply{"sort_runs", {Tile{}, size, elements, in(runs), nan, before}, "sort runs of {2} into {3}"});
    add(plan, ++stage,
        Apply{"merge_runs",
              {Tile{}, size, elements, in(runs), in(to), in(spare), StoredIn{nan}, before},
              "merge runs of {3} into {4}"});
  } else {
    add(plan, stage, Apply{"sort", {Tile{}, size, elements, in(to), in(spare), before}, "sort {2} into {3}"});
  }
  return add_memory(plan, name, type, address_of(to, type.element), {stage + 1, stage + 1});
}

Id plan_scatter(Staging& staging, const Term& term, const std::string& name, std::optional<VariableId> id) {
  return scatter(staging, term, name, id);
}

Id plan_scatter_add(Staging& staging, const Term& term, const std::string& name, std::optional<VariableId> id) {
  return scatter(staging, term, name, id);
}

Id plan_hadamard(Staging& staging, const Term& term, const std::string& name, std::optional<VariableId> id) {
  Routine& plan = staging.plan;
  const Term& of = *term.arguments[0];
  const Type& type = term.type();
  const Address to = address_for(plan, id, name, type);
  const ElementsOf from{value_of(plan, of)};
  const Ready when = ready(plan, of);
  if (!type.is_over(Extent::Kind::kElements)) {
    // Its blocks do not end where tiles' shares of it do.
    add(plan, when.all,
        Apply{"hadamard_of_array",
              {Tile{}, SizeOf{type}, BlockOf{term.block}, from, to},
              "rotate blocks of {3} into {4}",
              term.at});
    return add_memory(plan, name, type, to, {when.all + 1, when.all + 1});
  }
  add_own(plan, when.own,
          Apply{"hadamard", {Tile{}, BlockOf{term.block}, from, to}, "rotate blocks of {2} into {3}", term.at});
  return add_memory(plan, name, type, to, {when.own, when.own + 1});
}

}  // namespace casync::compll::cuda_vector
