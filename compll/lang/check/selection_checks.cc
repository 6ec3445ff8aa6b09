// SPDX-License-Identifier: Apache-2.0
//
// The checks of operators that pick and move elements.
#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compll/lang/check/operator_checks.h"

namespace casync::compll {
namespace {

/// Returns true if all values of a parameter are powers of two.
bool is_power_of_two(const ProgramParameter& parameter) {
  const std::vector<double> ends = {parameter.least, parameter.most};
  const std::vector<double>& values = parameter.choices.empty() ? ends : parameter.choices;
  const bool few = !parameter.choices.empty() || parameter.least == parameter.most;
  return few && std::all_of(values.begin(), values.end(), [](double value) {
           return value >= 1 && std::has_single_bit(static_cast<std::uint64_t>(value));
         });
}

/// A call as messages have it, as far as its first argument: `filter(gradient`.
std::string array_text(const OperatorUse& use) {
  const Span first = use.argument(0).at;
  const std::string_view source = use.code.diagnostics.source().text();
  return std::string(use.word()) + "(" + std::string(source.substr(first.begin, first.end - first.begin));
}

/// The keys of `largest` and `kth_largest`: the array, or the key function's results for its elements.
TermPtr keys_of(const OperatorUse& use, TermPtr array) {
  if (use.count() == 3) array = use.mapped(std::move(array), use.last());
  const ScalarType element = array->type().element;
  if (!element.is_number() || element == kDoubleType) {
    const Span at = use.count() == 3 ? use.last().at : use.argument(0).at;
    use.refuse(at, use.quoted() + " of " + text_of(element) + "s", "it goes by floats or integers");
  }
  return use.code.selections.filled(std::move(array), 0);
}

/// The places of the elements for which a condition holds, of `where` and of `filter`: of all, or of so many as a size
/// says.
TermPtr places_where(const OperatorUse& use, TermPtr array) {
  const std::string text = array_text(use) + ", ...)";
  const std::optional<Extent> count = use.count() == 3 ? std::optional(use.size(1)) : std::nullopt;
  TermPtr holds = use.mapped(std::move(array), use.last());
  if (holds->type().element != kBoolType) {
    use.refuse(use.last().at,
               use.quoted() + " needs a function that returns bool, this returns " + text_of(holds->type().element));
  }
  SelectionChecker& selections = use.code.selections;
  const Extent& all = *holds->type().extent;
  // A size of its own is n at most, and the gradient may have fewer elements than such an array.
  if (!count && all.kind == Extent::Kind::kFixed) {
    const std::string size = std::to_string(all.count.value);
    use.refuse(use.argument(0).at, use.quoted() + " without a count, of " + size + " elements whatever n is",
               "give it the count: `" + std::string(use.word()) + "(x, " + size + ", f)`");
  }
  if (!count) return selections.places_where(std::move(holds), text, use.at.at);
  return use.term(Op::kWhere, {kUintType, *count}, terms(selections.filled(std::move(holds), 0)));
}

TermPtr places_of(const OperatorUse& use, std::size_t argument) {
  TermPtr places = use.array(argument);
  const ScalarType element = places->type().element;
  if (!element.is_integer()) {
    use.refuse(use.argument(argument).at, use.quoted() + " goes to places, these are " + text_of(element) + "s");
  }
  return use.code.selections.filled_places(std::move(places));
}

/// map(places, [&](uint i) -> { return array[i]; })
TermPtr picked(const OperatorUse& use, TermPtr array, TermPtr places) {
  const Span at = use.at.at;
  Variables& variables = use.code.variables;
  array = use.code.selections.filled(std::move(array), 0);
  const Type type{array->type().element, places->type().extent};
  const ScalarType place = places->type().element;
  const Type array_type = array->type();
  const VariableId kept = variables.keep(terms(std::move(array)), "array", at).front();
  TermPtr term = use.term(Op::kMap, type, terms(std::move(places)));
  term->function = std::make_unique<Body>();
  term->function->parameters.push_back(variables.new_variable("place", {place, {}}, at));
  TermPtr index = make_variable(at, term->function->parameters.front(), {place, {}});
  term->function->results.push_back(
      ExpressionChecker::element_of(make_variable(at, kept, array_type), std::move(index), at));
  return term;
}

/// Returns true if the last argument is this word, and the file has no function of that name.
bool is_word(const OperatorUse& use, std::string_view word) {
  const auto* name = use.count() == 2 ? std::get_if<Name>(&use.last().node) : nullptr;
  return name != nullptr && name->text == word && use.code.functions.callable(word) == nullptr;
}

/// [&](a, b) -> bool { return b < a; }
std::unique_ptr<Body> goes_before_lesser(const OperatorUse& use, ScalarType element) {
  const Type type{element, {}};
  const Span at = use.last().at;
  const ScalarType wide = common_type(element, element);
  auto body = std::make_unique<Body>();
  body->parameters = {use.code.variables.new_variable("a", type, at), use.code.variables.new_variable("b", type, at)};
  const auto operand = [&](std::size_t i) { return convert(make_variable(at, body->parameters[i], type), wide); };
  body->results = terms(use.term(Op::kLess, {kBoolType, {}}, terms(operand(1), operand(0))));
  return body;
}

TermPtr scattered(const OperatorUse& use, Op op) {
  const std::string of = use.quoted();
  const SizeChecker& sizes = use.code.sizes;
  TermPtr places = places_of(use, 0);
  TermPtr values = use.code.expressions.check_one(use.argument(1));
  if (values->type().is_array() && *values->type().extent != *places->type().extent) {
    use.refuse(use.argument(1).at, of + " of " + sizes.text_of(*values->type().extent) + " values to " +
                                       sizes.text_of(*places->type().extent) + " places");
  }
  TermPtr into = use.code.expressions.check_one(use.argument(2));
  const bool zeros = !into->type().is_array();
  const ScalarType element = zeros ? values->type().element : into->type().element;
  if (!element.is_number()) use.refuse(use.argument(1).at, of + " of " + text_of(element) + "s");
  if (values->type().is_array() && values->type().element != element) {
    use.refuse(use.argument(1).at,
               of + " of " + text_of(values->type().element) + "s into an array of " + text_of(element) + "s");
  }
  if (!values->type().is_array()) values = convert(std::move(values), element);
  const Extent extent = zeros ? use.size(2) : *into->type().extent;
  TermPtr term = use.term(op, {element, extent}, terms(std::move(places), std::move(values)));
  if (!zeros) term->arguments.push_back(std::move(into));
  return term;
}

}  // namespace

/// largest(x, count) and largest(x, count, key): the places of the largest elements above zero.
TermPtr check_largest(const OperatorUse& use) {
  TermPtr array = use.array(0);
  const Extent count = use.size(1);
  return use.term(Op::kLargest, {kUintType, count}, terms(keys_of(use, std::move(array))));
}

/// kth_largest(x, k) and kth_largest(x, k, key): the k-th largest element above zero, or the k-th largest key.
TermPtr check_kth_largest(const OperatorUse& use) {
  TermPtr array = use.array(0);
  TermPtr k = use.code.expressions.check_element(use.argument(1), "the k of `kth_largest`");
  if (!k->type().element.is_integer()) {
    use.refuse(use.argument(1).at, "the k of `kth_largest` is an integer, this is " + text_of(k->type().element),
               "a share of an array's elements is `selected(ratio, x.size)`");
  }
  TermPtr keys = keys_of(use, std::move(array));
  const Type one{keys->type().element, {}};
  return use.term(Op::kKthLargest, one, terms(std::move(keys), convert(std::move(k), kUintType)));
}

/// where(x, condition) and where(x, count, condition): the places of the elements for which it holds, of all or of the
/// first ones.
TermPtr check_where(const OperatorUse& use) { return places_where(use, use.array(0)); }

/// filter(x, condition): those elements; of a `range` they are the places. filter(x, count, condition): the first ones,
/// followed by zeros.
TermPtr check_filter(const OperatorUse& use) {
  TermPtr array = use.array(0);
  if (use.count() == 2 && array->op == Op::kRange) return places_where(use, std::move(array));
  const Type type = array->type();
  // Computed once, and used twice: it may draw random numbers, or exchange.
  const VariableId kept = use.code.variables.keep(terms(std::move(array)), "array", use.at.at).front();
  const auto all = [&] { return make_variable(use.at.at, kept, type); };
  TermPtr places = places_where(use, all());
  return picked(use, all(), std::move(places));
}

/// sort(x) and sort(x, goes_before), which is stable.
TermPtr check_sort(const OperatorUse& use) {
  TermPtr array = use.array(0);
  const Type type = array->type();
  use.code.selections.need_none(*array, use.argument(0).at, "`sort`",
                                "a selection keeps the order: `filter(sort(x), f)` has the same elements");
  TermPtr term = use.term(Op::kSort, type, terms(std::move(array)));
  const bool is_descending = is_word(use, "greater");
  if (use.count() == 1 || is_descending || is_word(use, "smaller")) {
    if (!type.element.is_number()) use.refuse(use.at.at, "`sort` of " + text_of(type.element) + "s needs to know how");
    if (is_descending) term->function = goes_before_lesser(use, type.element);
    return term;
  }
  const Span at = use.last().at;
  term->function = use.code.functions.body_of(use.last(), {type.element, type.element}, "`sort`");
  use.need_no_random(*term->function, at);
  const auto& results = term->function->results;
  if (results.size() != 1 || results.front()->type().element != kBoolType) {
    use.refuse(at, "`sort` needs a function of two elements that returns bool",
               "it says whether the first goes before the second");
  }
  return term;
}

/// gather(x, places): the elements at these places; 0 for a place outside.
TermPtr check_gather(const OperatorUse& use) {
  TermPtr array = use.array(0);
  return picked(use, std::move(array), places_of(use, 1));
}

/// scatter(places, values, x.size): zeros, with these values at these places; scatter(places, values, x): a copy of x
/// with them.
TermPtr check_scatter(const OperatorUse& use) { return scattered(use, Op::kScatter); }

/// The same, added.
TermPtr check_scatter_add(const OperatorUse& use) { return scattered(use, Op::kScatterAdd); }

/// histogram(x, bins) and histogram(x, bins, bin): how many elements are in bin 0, 1, ...
TermPtr check_histogram(const OperatorUse& use) {
  TermPtr bins = use.array(0);
  const Extent count = use.size(1);
  if (count.kind != Extent::Kind::kFixed) {
    use.refuse(use.argument(1).at, "the bins of `histogram` are a number from 0 to 65536");
  }
  if (use.count() == 3) bins = use.mapped(std::move(bins), use.last());
  const ScalarType element = bins->type().element;
  if (!element.is_integer()) {
    const Span at = use.count() == 3 ? use.last().at : use.argument(0).at;
    use.refuse(at, "a bin is an integer, this is " + text_of(element),
               "give `histogram` a function that says which bin");
  }
  bins = use.code.selections.filled_places(std::move(bins));  // what is no element is in no bin
  return use.term(Op::kHistogram, {kUintType, count}, terms(std::move(bins)));
}

/// hadamard(x, block): each block times the orthonormal Walsh-Hadamard matrix, which is its own inverse.
TermPtr check_hadamard(const OperatorUse& use) {
  TermPtr array = use.floats(0);
  use.code.selections.need_none(*array, use.argument(0).at, "`hadamard`", "turn what it is selected from");
  const Constant block = use.code.sizes.block_size(use.argument(1));
  const Span size_at = use.argument(1).at;
  if (block.dimension || (!block.parameter && !std::has_single_bit(block.value))) {
    use.refuse(size_at, "the size of a block of `hadamard` is a power of two");
  }
  const std::vector<ProgramParameter>& parameters = use.code.program.parameters;
  if (block.parameter && !is_power_of_two(parameters[*block.parameter])) {
    use.refuse(size_at, "`" + parameters[*block.parameter].name + "` may be no power of two",
               "the size of a block of `hadamard` is one: declare the values, like `in {16, 32, 64}`");
  }
  const Type type = array->type();
  TermPtr term = use.term(Op::kHadamard, type, terms(std::move(array)));
  term->block = block;
  return term;
}

}  // namespace casync::compll
