// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/cuda/operators.h"

#include <algorithm>
#include <set>

#include "compll/ir/vector/cuda/changed.h"
#include "compll/ir/vector/cuda/ready.h"
#include "compll/ir/vector/cuda/staging.h"
#include "compll/ir/vector/cuda/tasks.h"
#include "compll/lang/terms.h"

namespace casync::compll::cuda_whole {
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

}  // namespace

Id Operators::plan_sort(const Term& term, const std::string& name) {
  Routine& plan = staging_.plan;
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

Id Operators::plan_scatter(const Term& term, const std::string& name, std::optional<VariableId> id) {
  Routine& plan = staging_.plan;
  const Type& type = term.type();
  const Term &places = *term.arguments[0], &values = *term.arguments[1];
  const Term* into = term.arguments.size() > 2 ? term.arguments[2].get() : nullptr;
  const Address to = address_for(plan, id, name, type);
  if (!is_distinct(plan, places)) return plan_repeated(term, name, to);
  const std::uint32_t before = into != nullptr ? ready_to_share(plan, *into) : 0;
  Fill fill{.from = {}, .type = type, .to = to, .evenly = is_shared_evenly(type), .waits = true, .at = term.at};
  if (into != nullptr) fill.from = value_of(plan, *into);
  add(plan, before, fill);
  const std::uint32_t stage = std::max({before + 1, ready_to_share(plan, places), ready_to_share(plan, values)});
  add(plan, stage, Change{&term, value_of(plan, places), values_of(plan, values), to, false});
  return add_memory(plan, name, type, to, {stage + 1, stage + 1});
}

/// Plans a scatter whose places may be there twice: the last of them holds.
Id Operators::plan_repeated(const Term& term, const std::string& name, const Address& to) {
  Routine& plan = staging_.plan;
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
  return add_memory(plan, name, type, to, {stage, stage + 1});
}

Id Operators::plan_call(const Term& term, const std::string& name) {
  Routine& plan = staging_.plan;
  const ArrayTraits& traits = operation_of(term.op).traits;
  const Type& type = term.type();
  const SpaceId to = take_elements(plan, name, type, traits.adds ? Zeros::kCleared : Zeros::kNone);
  const std::string function(name_of(term.op));
  Apply call{function, {ShareOf{term.arguments.front()->type()}}, function + " of"};
  std::uint32_t stage = 0;
  for (const TermPtr& argument : term.arguments) {
    if (argument->type().is_array()) {
      call.arguments.push_back(SizeOf{argument->type()});
      call.arguments.push_back(ElementsOf{value_of(plan, *argument)});
    } else {
      check(*argument);
      call.arguments.push_back(argument.get());
    }
    call.words += " {" + std::to_string(call.arguments.size() - 1) + "}";
    const bool by_share = traits.by_share && argument == term.arguments.front();
    stage = std::max(stage, by_share ? ready_to_share(plan, *argument) : ready(plan, *argument).all);
  }
  call.arguments.push_back(SizeOf{type});
  call.arguments.push_back(MemoryOf{to, type.element});
  call.words += " into {" + std::to_string(call.arguments.size() - 1) + "}";
  add(plan, stage, std::move(call));
  return add_memory(plan, name, type, address_of(to, type.element), {stage + 1, stage + 1});
}

Id Operators::plan_hadamard(const Term& term, const std::string& name, std::optional<VariableId> id) {
  Routine& plan = staging_.plan;
  const Term& of = *term.arguments[0];
  const Address to = address_for(plan, id, name, term.type());
  const std::uint32_t stage = ready(plan, of).own;
  add_own(plan, stage,
          Apply{"hadamard",
                {Tile{}, BlockOf{term.block}, ElementsOf{value_of(plan, of)}, to},
                "rotate blocks of {2} into {3}",
                term.at});
  return add_memory(plan, name, term.type(), to, {stage, stage + 1});
}

}  // namespace casync::compll::cuda_whole
