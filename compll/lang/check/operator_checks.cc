// SPDX-License-Identifier: Apache-2.0
//
// The table of operators, and the checks of those that work at each place.
#include "compll/lang/check/operator_checks.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace casync::compll {
namespace {

constexpr auto kCalls = std::to_array<OperatorCall>({
#define COMPLL_CALL(word, least, most, form) {#word, least, most, form, &check_##word},
#include "compll/lang/operators.def"
});

}  // namespace

std::span<const OperatorCall> operator_calls() { return kCalls; }

const OperatorCall* operator_call(std::string_view word) {
  const auto found = std::find_if(kCalls.begin(), kCalls.end(), [&](const auto& call) { return call.word == word; });
  return found == kCalls.end() ? nullptr : &*found;
}

TermPtr check_operator(CodeChecker& code, const OperatorCall& call, const Expression& at, const Call& node) {
  if (code.place.level != 0) {
    code.refuse(at.at, "`" + std::string(call.word) + "` in a function that is applied to elements",
                "operators work on whole arrays: apply it outside, and use its result here");
  }
  code.calls.need_arguments(at, node, call.least, call.most, call.form);
  return call.check({code, at, node});
}

TermPtr OperatorUse::mapped(TermPtr array, const Expression& function) const {
  const Type type = array->type();
  TermPtr term = make_term(Op::kMap, function.at, type, terms(std::move(array)));
  term->function = code.functions.body_of(function, {type.element}, quoted());
  if (term->function->results.size() != 1) refuse(function.at, quoted() + " needs a function with one result");
  term->types.front().element = term->function->results.front()->type().element;
  return term;
}

void OperatorUse::need_no_random(const Body& body, Span function_at) const {
  for_each_term(body, [&](const Term& term) {
    if (is_random(term)) {
      refuse(function_at, quoted() + " by a function that draws random numbers",
             "draw them in a `map`, one for each element");
    }
  });
}

namespace {

/// The way out where two arrays of a `map` do not fit together.
std::string hint_of(const OperatorUse& use, const Term& first, const Term& other) {
  const SelectionChecker& selections = use.code.selections;
  const bool selected = selections.is_selection(first.type()) || selections.is_selection(other.type());
  return selected ? "two selections are never as long; elements at the same places are picked by `gather(x, places)`"
                  : "one value for each block is repeated by `spread(x, block)`";
}

/// The term that a variable of a body stands for, through other names for it.
const Term& named(const Body& body, const Term& term) {
  for (const Step& step : body.steps) {
    if (term.op == Op::kVariable && step.variables.front() == term.variable) return named(body, *step.value);
  }
  return term;
}

/// Makes a function that does nothing but pick `array[i]` the one of `gather`, which is computed as far as there are
/// places.
void name_pick(Body& body) {
  const Term& pick = named(body, *body.results.front());
  if (body.results.size() != 1 || pick.op != Op::kElement) return;
  const Term& array = named(body, *pick.arguments[0]);
  const Term& index = named(body, *pick.arguments[1]);
  if (array.op != Op::kVariable || index.op != Op::kVariable || index.variable != body.parameters.front()) return;
  TermPtr picked = ExpressionChecker::element_of(make_variable(array.at, array.variable, array.type()),
                                                 make_variable(index.at, index.variable, index.type()), pick.at);
  body.results = terms(std::move(picked));
  body.steps.clear();
}

}  // namespace

/// map(x, y, ..., f): f of the elements at each place.
TermPtr check_map(const OperatorUse& use) {
  const SizeChecker& sizes = use.code.sizes;
  Terms arrays;
  std::vector<ScalarType> elements;
  for (std::size_t i = 0; i + 1 < use.count(); ++i) {
    arrays.push_back(use.array(i));
    const Type& type = arrays.back()->type();
    if (*type.extent != *arrays.front()->type().extent) {
      use.refuse(use.argument(i).at,
                 "`map` over " + sizes.text_of(*arrays.front()->type().extent) + " and over " +
                     sizes.text_of(*type.extent) + " elements",
                 hint_of(use, *arrays.front(), *arrays.back()));
    }
    elements.push_back(type.element);
  }
  const Extent extent = *arrays.front()->type().extent;
  TermPtr term = use.term(Op::kMap, {}, std::move(arrays));
  term->function = use.code.functions.body_of(use.last(), elements, "`map`");
  if (use.code.selections.is_selection(extent)) name_pick(*term->function);
  term->types.clear();
  for (const TermPtr& result : term->function->results) term->types.push_back({result->type().element, extent});
  return term;
}

/// spread(x, block): one value for each block, repeated for its elements.
TermPtr check_spread(const OperatorUse& use) {
  SizeChecker& sizes = use.code.sizes;
  TermPtr array = use.array(0);
  const Constant block = sizes.block_size(use.argument(1));
  const Extent wanted{Extent::Kind::kBlocks, block};
  const std::string given = sizes.text_of(*array->type().extent);
  if (!block.dimension && *array->type().extent != wanted) {
    use.refuse(use.argument(0).at, "`spread` of " + given + " elements, for blocks there are " + sizes.text_of(wanted));
  }
  Extent extent;
  if (block.dimension) {
    TermPtr count = sizes.count_of(*array->type().extent);
    if (count == nullptr) {
      use.refuse(use.argument(0).at,
                 "`spread` of " + given + " elements to vectors of `" + std::string(name_of(*block.dimension)) + "`");
    }
    extent = sizes.extent_of_vectors(std::move(count), *block.dimension);
  }
  const Type type{array->type().element, extent};
  TermPtr term = use.term(Op::kSpread, type, terms(std::move(array)));
  term->block = block;
  return term;
}

/// range(x.size): 0, 1, 2, ...
TermPtr check_range(const OperatorUse& use) { return use.term(Op::kRange, {kIntType, use.size(0)}); }

}  // namespace casync::compll
