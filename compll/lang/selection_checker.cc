// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "compll/lang/code_checker.h"
#include "compll/lang/terms.h"

namespace casync::compll {
namespace {

const Expression& last(const Call& node) { return *node.arguments.back(); }

/// Returns true if all values of a parameter are powers of two.
bool is_power_of_two(const ProgramParameter& parameter) {
  const std::vector<double> ends = {parameter.least, parameter.most};
  const std::vector<double>& values = parameter.choices.empty() ? ends : parameter.choices;
  const bool few = !parameter.choices.empty() || parameter.least == parameter.most;
  return few && std::all_of(values.begin(), values.end(), [](double value) {
           return value >= 1 && std::has_single_bit(static_cast<std::uint64_t>(value));
         });
}

}  // namespace

TermPtr CodeChecker::check_selection(const Expression& at, const Call& node) {
  const std::string_view name = node.callee.text;
  if (name == "largest") return check_largest(at, node);
  if (name == "kth_largest") return check_kth_largest(at, node);
  if (name == "where") return check_where(at, node);
  if (name == "filter") return check_filter(at, node);
  if (name == "sort") return check_sort(at, node);
  if (name == "gather") return check_gather(at, node);
  if (name == "histogram") return check_histogram(at, node);
  if (name == "hadamard") return check_hadamard(at, node);
  return check_scatter(at, node);
}

/// map(array, function), for operators that take a function of each element.
TermPtr CodeChecker::mapped(TermPtr array, const Expression& function, const std::string& of) {
  const Type type = array->type();
  TermPtr term = make_term(Op::kMap, function.at, type, terms(std::move(array)));
  term->function = body_of(function, {type.element}, of);
  if (term->function->results.size() != 1) refuse(function.at, of + " needs a function with one result");
  term->types.front().element = term->function->results.front()->type().element;
  return term;
}

/// The keys of `largest` and `kth_largest`: the array, or the key function's results for its elements.
TermPtr CodeChecker::keys_of(TermPtr array, const Call& node) {
  const std::string of = "`" + std::string(node.callee.text) + "`";
  if (node.arguments.size() == 3) array = mapped(std::move(array), last(node), of);
  const ScalarType element = array->type().element;
  if (!element.is_number() || element == kDoubleType) {
    refuse(node.arguments[0]->at, of + " of " + text_of(element) + "s", "it goes by floats or integers");
  }
  return array;
}

/// largest(x, count) and largest(x, count, key): the places of the largest elements above zero.
TermPtr CodeChecker::check_largest(const Expression& at, const Call& node) {
  need_arguments(at, node, 2, 3, "largest(gradient, count, [&](float x) -> float { return abs(x); })");
  TermPtr array = check_array(*node.arguments[0], "`largest`");
  const Extent count = size_of(*node.arguments[1], "`largest`");
  return make_term(Op::kLargest, at.at, {kUintType, count}, terms(keys_of(std::move(array), node)));
}

/// kth_largest(x, k) and kth_largest(x, k, key): the k-th largest element above zero, or the k-th largest key.
TermPtr CodeChecker::check_kth_largest(const Expression& at, const Call& node) {
  need_arguments(at, node, 2, 3, "kth_largest(gradient, k, [&](float x) -> float { return abs(x); })");
  TermPtr array = check_array(*node.arguments[0], "`kth_largest`");
  TermPtr k = check_element(*node.arguments[1], "the k of `kth_largest`");
  if (!k->type().element.is_integer()) {
    refuse(node.arguments[1]->at, "the k of `kth_largest` is an integer, this is " + text_of(k->type().element),
           "a share of an array's elements is `selected(ratio, x.size)`");
  }
  TermPtr keys = keys_of(std::move(array), node);
  const Type one{keys->type().element, {}};
  return make_term(Op::kKthLargest, at.at, one, terms(std::move(keys), convert(std::move(k), kUintType)));
}

/// Checks where(x, count, condition): the places of the first elements for which it holds.
TermPtr CodeChecker::check_where(const Expression& at, const Call& node, const std::string& of) {
  need_arguments(at, node, 3, 3,
                 std::string(node.callee.text) + "(gradient, count, [&](float x) -> bool { return x > 1; })");
  TermPtr array = check_array(*node.arguments[0], of);
  const Extent count = size_of(*node.arguments[1], of);
  TermPtr holds = mapped(std::move(array), last(node), of);
  if (holds->type().element != kBoolType) {
    refuse(last(node).at, of + " needs a function that returns bool, this returns " + text_of(holds->type().element));
  }
  return make_term(Op::kWhere, at.at, {kUintType, count}, terms(std::move(holds)));
}

/// filter(x, count, condition): those elements, followed by zeros.
TermPtr CodeChecker::check_filter(const Expression& at, const Call& node) {
  if (node.arguments.size() == 2) {
    refuse(at.at, "`filter` without the most elements that it may give",
           "a payload has a size that is known before: write `filter(x, selected(0.01, x.size), f)` for the first "
           "hundredth, or `filter(x, x.size, f)` for all; zeros fill the rest");
  }
  TermPtr places = check_where(at, node, "`filter`");
  return picked(check_array(*node.arguments[0], "`filter`"), std::move(places), at.at);
}

/// sort(x) and sort(x, goes_before), which is stable.
TermPtr CodeChecker::check_sort(const Expression& at, const Call& node) {
  need_arguments(at, node, 1, 2, "sort(x, [&](float a, float b) -> bool { return a < b; })");
  TermPtr array = check_array(*node.arguments[0], "`sort`");
  const Type type = array->type();
  TermPtr term = make_term(Op::kSort, at.at, type, terms(std::move(array)));
  if (node.arguments.size() == 1) {
    if (!type.element.is_number()) refuse(at.at, "`sort` of " + text_of(type.element) + "s needs to know how");
    return term;
  }
  term->function = body_of(last(node), {type.element, type.element}, "`sort`");
  draws_nothing(*term->function, last(node).at, "`sort`");
  const auto& results = term->function->results;
  if (results.size() != 1 || results.front()->type().element != kBoolType) {
    refuse(last(node).at, "`sort` needs a function of two elements that returns bool",
           "it says whether the first goes before the second");
  }
  return term;
}

TermPtr CodeChecker::check_places(const Expression& expression, const std::string& of) {
  TermPtr places = check_array(expression, of);
  const ScalarType element = places->type().element;
  if (!element.is_integer()) refuse(expression.at, of + " goes to places, these are " + text_of(element) + "s");
  return places;
}

/// map(places, [&](uint i) -> { return array[i]; })
TermPtr CodeChecker::picked(TermPtr array, TermPtr places, Span at) {
  const Type type{array->type().element, places->type().extent};
  const ScalarType place = places->type().element;
  const Type array_type = array->type();
  const VariableId kept = keep(terms(std::move(array)), "array", at).front();
  TermPtr term = make_term(Op::kMap, at, type, terms(std::move(places)));
  term->function = std::make_unique<Body>();
  term->function->parameters.push_back(new_variable("place", {place, {}}, at));
  TermPtr index = make_variable(at, term->function->parameters.front(), {place, {}});
  term->function->results.push_back(element_of(make_variable(at, kept, array_type), std::move(index), at));
  return term;
}

/// gather(x, places): the elements at these places; 0 for a place outside.
TermPtr CodeChecker::check_gather(const Expression& at, const Call& node) {
  need_arguments(at, node, 2, 2, "gather(gradient, places)");
  TermPtr array = check_array(*node.arguments[0], "`gather`");
  return picked(std::move(array), check_places(*node.arguments[1], "`gather`"), at.at);
}

/// scatter(places, values, x.size): zeros, with these values at these places; scatter(places, values, x): a copy of x
/// with them. scatter_add adds them.
TermPtr CodeChecker::check_scatter(const Expression& at, const Call& node) {
  const std::string of = "`" + std::string(node.callee.text) + "`";
  need_arguments(at, node, 3, 3, std::string(node.callee.text) + "(places, values, gradient.size)");
  TermPtr places = check_places(*node.arguments[0], of);
  TermPtr values = check_one(*node.arguments[1]);
  if (values->type().is_array() && *values->type().extent != *places->type().extent) {
    refuse(node.arguments[1]->at,
           of + " of " + text_of(*values->type().extent) + " values to " + text_of(*places->type().extent) + " places");
  }
  TermPtr into = check_one(*node.arguments[2]);
  const bool zeros = !into->type().is_array();
  const ScalarType element = zeros ? values->type().element : into->type().element;
  if (!element.is_number()) refuse(node.arguments[1]->at, of + " of " + text_of(element) + "s");
  if (values->type().is_array() && values->type().element != element) {
    refuse(node.arguments[1]->at,
           of + " of " + text_of(values->type().element) + "s into an array of " + text_of(element) + "s");
  }
  if (!values->type().is_array()) values = convert(std::move(values), element);
  const Extent extent = zeros ? size_of(*node.arguments[2], of) : *into->type().extent;
  TermPtr term = make_term(node.callee.text == "scatter" ? Op::kScatter : Op::kScatterAdd, at.at, {element, extent},
                           terms(std::move(places), std::move(values)));
  if (!zeros) term->arguments.push_back(std::move(into));
  return term;
}

/// histogram(x, bins) and histogram(x, bins, bin): how many elements are in bin 0, 1, ...
TermPtr CodeChecker::check_histogram(const Expression& at, const Call& node) {
  need_arguments(at, node, 2, 3, "histogram(gradient, 256, [&](float x) -> uint { return bits(x) >> 24; })");
  TermPtr bins = check_array(*node.arguments[0], "`histogram`");
  const Extent count = size_of(*node.arguments[1], "`histogram`");
  if (count.kind != Extent::Kind::kFixed) {
    refuse(node.arguments[1]->at, "the bins of `histogram` are a number from 0 to 65536");
  }
  if (node.arguments.size() == 3) bins = mapped(std::move(bins), last(node), "`histogram`");
  const ScalarType element = bins->type().element;
  if (!element.is_integer()) {
    refuse(last(node).at, "a bin is an integer, this is " + text_of(element),
           "give `histogram` a function that says which bin");
  }
  return make_term(Op::kHistogram, at.at, {kUintType, count}, terms(std::move(bins)));
}

/// hadamard(x, block): each block times the orthonormal Walsh-Hadamard matrix, which is its own inverse.
TermPtr CodeChecker::check_hadamard(const Expression& at, const Call& node) {
  need_arguments(at, node, 2, 2, "hadamard(gradient, 64)");
  TermPtr array = check_array(*node.arguments[0], "`hadamard`");
  if (array->type().element != kFloatType) {
    refuse(node.arguments[0]->at, "`hadamard` of " + text_of(array->type().element) + "s", "it is for floats");
  }
  const Constant block = block_size(*node.arguments[1]);
  const Span size_at = node.arguments[1]->at;
  if (block.dimension || (!block.parameter && !std::has_single_bit(block.value))) {
    refuse(size_at, "the size of a block of `hadamard` is a power of two");
  }
  if (block.parameter && !is_power_of_two(program_.parameters[*block.parameter])) {
    refuse(size_at, "`" + program_.parameters[*block.parameter].name + "` may be no power of two",
           "the size of a block of `hadamard` is one: declare the values, like `in {16, 32, 64}`");
  }
  const Type type = array->type();
  TermPtr term = make_term(Op::kHadamard, at.at, type, terms(std::move(array)));
  term->block = block;
  return term;
}

}  // namespace casync::compll
