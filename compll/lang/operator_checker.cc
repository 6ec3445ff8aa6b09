// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "base/nearest.h"
#include "compll/lang/code_checker.h"
#include "compll/lang/terms.h"

namespace casync::compll {
namespace {

constexpr auto kOperators = std::to_array<std::string_view>({
#define COMPLL_CALL(word, ...) #word,
#include "compll/lang/operators.def"
});

struct NamedReducer {
  std::string_view name;
  Reducer reducer;
};
// `smaller` and `greater` are the names that published programs have for min and max.
constexpr std::array<NamedReducer, 7> kReducers = {{{"sum", Reducer::kSum},
                                                    {"min", Reducer::kMin},
                                                    {"max", Reducer::kMax},
                                                    {"smaller", Reducer::kMin},
                                                    {"greater", Reducer::kMax},
                                                    {"magnitude", Reducer::kMagnitude},
                                                    {"count", Reducer::kCount}}};
constexpr const char* kReducerHint = "give it sum, min, max, magnitude, count or a function of two elements";

const NamedReducer* named_reducer(std::string_view name) {
  const auto found = std::find_if(kReducers.begin(), kReducers.end(), [&](const auto& r) { return r.name == name; });
  return found == kReducers.end() ? nullptr : &*found;
}

/// Decides if a function of two elements gives one of them, as far as its text shows.
class Picks {
 public:
  explicit Picks(const Body& body) : body_(body) {}
  bool one() const { return picks(*body_.results.front()); }

 private:
  bool picks(const Term& term) const {
    switch (term.op) {
      case Op::kVariable: return picks(term.variable);
      case Op::kSelect: return picks(*term.arguments[1]) && picks(*term.arguments[2]);
      case Op::kMin:
      case Op::kMax: return picks(*term.arguments[0]) && picks(*term.arguments[1]);
      default: return false;
    }
  }
  bool picks(VariableId variable) const {
    if (std::find(body_.parameters.begin(), body_.parameters.end(), variable) != body_.parameters.end()) return true;
    for (const Step& step : body_.steps) {
      if (step.variables.size() == 1 && step.variables.front() == variable) return picks(*step.value);
    }
    return false;
  }

  const Body& body_;
};

}  // namespace

std::span<const std::string_view> CodeChecker::operators() { return kOperators; }

Terms CodeChecker::check_operator(const Expression& at, const Call& node) {
  const std::string_view name = node.callee.text;
  if (level_ != 0) {
    refuse(at.at, "`" + std::string(name) + "` in a function that is applied to elements",
           "operators work on whole arrays: apply it outside, and use its result here");
  }
  if (name == "map") return check_map(at, node);
  if (name == "reduce") return terms(check_reduce(at, node, false));
  if (name == "block_reduce") return terms(check_reduce(at, node, true));
  if (name == "spread") return terms(check_spread(at, node));
  if (name == "matmul") return terms(check_matmul(at, node));
  if (name == "orthonormalize") return terms(check_orthonormalize(at, node));
  if (name == "exchange") return terms(check_exchange(at, node));
  return terms(name == "range" ? check_range(at, node) : check_selection(at, node));
}

/// map(x, y, ..., f): f of the elements at each place.
Terms CodeChecker::check_map(const Expression& at, const Call& node) {
  if (node.arguments.size() < 2) need_arguments(at, node, 2, 2, "map(x, [&](float x) -> float { return 2 * x; })");
  Terms arrays;
  std::vector<ScalarType> elements;
  for (std::size_t i = 0; i + 1 < node.arguments.size(); ++i) {
    arrays.push_back(check_array(*node.arguments[i], "`map`"));
    const Type& type = arrays.back()->type();
    if (*type.extent != *arrays.front()->type().extent) {
      refuse(
          node.arguments[i]->at,
          "`map` over " + text_of(*arrays.front()->type().extent) + " and over " + text_of(*type.extent) + " elements",
          "one value for each block is repeated by `spread(x, block)`");
    }
    elements.push_back(type.element);
  }
  const Extent extent = *arrays.front()->type().extent;
  TermPtr term = make_term(Op::kMap, at.at, {}, std::move(arrays));
  term->function = body_of(*node.arguments.back(), elements, "`map`");
  term->types.clear();
  for (const TermPtr& result : term->function->results) term->types.push_back({result->type().element, extent});
  return terms(std::move(term));
}

/// reduce(x, sum), reduce(x, initial, f), and the same for each block: block_reduce(x, block, ...).
TermPtr CodeChecker::check_reduce(const Expression& at, const Call& node, bool blocks) {
  const std::string form = blocks ? "block_reduce(x, block, max)" : "reduce(x, max)";
  const std::size_t own = blocks ? 2 : 1;
  if (node.arguments.size() == own)
    refuse(at.at, "`" + std::string(node.callee.text) + "` needs to know how", kReducerHint);
  need_arguments(at, node, own + 1, own + 2, form);
  TermPtr array = check_array(*node.arguments[0], "`" + std::string(node.callee.text) + "`");
  const ScalarType element = array->type().element;
  if (!element.is_number()) refuse(node.arguments[0]->at, "a reduction of " + text_of(element) + "s", "reduce numbers");
  std::optional<Extent> extent;
  Constant block;
  if (blocks) {
    block = block_size(*node.arguments[1]);
    if (block.dimension) {
      TermPtr vectors = vectors_of(*array->type().extent, *block.dimension);
      if (vectors == nullptr) {
        refuse(node.arguments[0]->at, text_of(*array->type().extent) + " elements are no vectors of `" +
                                          std::string(name_of(*block.dimension)) + "`");
      }
      const std::string text = text_of_size(*vectors);
      extent = extent_of(std::move(vectors), text);
    } else {
      if (array->type().extent->kind != Extent::Kind::kElements) {
        refuse(node.arguments[0]->at, "blocks of what has " + text_of(*array->type().extent) + " elements, not n");
      }
      extent = Extent{Extent::Kind::kBlocks, block};
    }
  }
  TermPtr term = make_term(blocks ? Op::kBlockReduce : Op::kReduce, at.at, {element, extent}, terms(std::move(array)));
  term->block = block;
  apply_reducer(*term, *node.arguments.back(), node, own);
  const bool initial = node.arguments.size() == own + 2;
  if (!initial || term->reducer == Reducer::kUser) return term;
  const Op op = term->reducer == Reducer::kMin ? Op::kMin : Op::kMax;
  TermPtr begin = convert(check_element(*node.arguments[own], "the value a reduction begins with"), element);
  return make_term(op, at.at, {element, {}}, terms(std::move(begin), std::move(term)));
}

void CodeChecker::apply_reducer(Term& term, const Expression& reducer, const Call& node, std::size_t at_argument) {
  const ScalarType element = term.type().element;
  const auto* name = std::get_if<Name>(&reducer.node);
  const bool initial = node.arguments.size() == at_argument + 2;
  if (name != nullptr && callable(name->text) == nullptr) {
    const NamedReducer* const known = named_reducer(name->text);
    if (known == nullptr)
      refuse(reducer.at, "there is no way to reduce called `" + std::string(name->text) + "`", kReducerHint);
    const bool is_end = known->reducer == Reducer::kMin || known->reducer == Reducer::kMax;
    if (initial && (!is_end || term.op == Op::kBlockReduce))
      refuse(node.arguments[at_argument]->at, "`" + std::string(name->text) + "` begins by itself",
             "leave the initial value out");
    term.reducer = known->reducer;
    if (known->reducer == Reducer::kMagnitude && element != kFloatType)
      refuse(reducer.at, "`magnitude` of " + text_of(element) + "s", "it is for floats; use `max`");
    if (known->reducer == Reducer::kCount) term.types.front().element = kUintType;
    if (known->reducer == Reducer::kSum) {
      term.types.front().element = element.is_float() ? kDoubleType : common_type(element, element);
    }
    return;
  }
  term.reducer = Reducer::kUser;
  term.function = body_of(reducer, {element, element}, "`" + std::string(node.callee.text) + "`");
  draws_nothing(*term.function, reducer.at, "`" + std::string(node.callee.text) + "`");
  if (term.function->results.size() != 1) refuse(reducer.at, "a reduction by a function of several results");
  if (term.function->results.front()->type().element != element) {
    refuse(reducer.at,
           "the function gives " + text_of(term.function->results.front()->type().element) + ", the array has " +
               text_of(element),
           "two elements become one of the same type");
  }
  if (initial) {
    term.arguments.push_back(
        convert(check_element(*node.arguments[at_argument], "the value a reduction begins with"), element));
    return;
  }
  if (term.op == Op::kBlockReduce || !Picks(*term.function).one()) {
    refuse(node.callee.at, "a reduction by this function needs the value it begins with",
           "write `" + std::string(node.callee.text) + (term.op == Op::kReduce ? "(x, 0, f)" : "(x, block, 0, f)") +
               "`; only `reduce` by a function that gives one of its two elements can begin with the first");
  }
  // A function that gives one of its two elements may see the first element twice.
  const Type type = term.arguments.front()->type();
  const VariableId kept = keep(std::move(term.arguments), "array", node.callee.at).front();
  term.arguments = terms(make_variable(node.callee.at, kept, type));
  term.arguments.push_back(element_of(make_variable(node.callee.at, kept, type),
                                      make_constant(node.callee.at, kIntType, 0), node.callee.at));
}

/// Two elements that meet are at no place of their own.
void CodeChecker::draws_nothing(const Body& body, Span at, const std::string& of) {
  for_each_term(body, [&](const Term& term) {
    if (is_random(term)) {
      refuse(at, of + " by a function that draws random numbers", "draw them in a `map`, one for each element");
    }
  });
}

/// spread(x, block): one value for each block, repeated for its elements.
TermPtr CodeChecker::check_spread(const Expression& at, const Call& node) {
  need_arguments(at, node, 2, 2, "spread(scale, block)");
  TermPtr array = check_array(*node.arguments[0], "`spread`");
  const Constant block = block_size(*node.arguments[1]);
  const Extent wanted{Extent::Kind::kBlocks, block};
  if (!block.dimension && *array->type().extent != wanted) {
    refuse(node.arguments[0]->at,
           "`spread` of " + text_of(*array->type().extent) + " elements, for blocks there are " + text_of(wanted));
  }
  Extent extent;
  if (block.dimension) {
    TermPtr count = count_of(*array->type().extent);
    if (count == nullptr) {
      refuse(node.arguments[0]->at, "`spread` of " + text_of(*array->type().extent) + " elements to vectors of `" +
                                        std::string(name_of(*block.dimension)) + "`");
    }
    extent = extent_of_vectors(std::move(count), *block.dimension);
  }
  const Type type{array->type().element, extent};
  TermPtr term = make_term(Op::kSpread, at.at, type, terms(std::move(array)));
  term->block = block;
  return term;
}

/// range(x.size): 0, 1, 2, ...
TermPtr CodeChecker::check_range(const Expression& at, const Call& node) {
  need_arguments(at, node, 1, 1, "range(gradient.size)");
  return make_term(Op::kRange, at.at, {kIntType, size_of(*node.arguments[0], "`range`")});
}

Constant CodeChecker::block_size(const Expression& expression) {
  TermPtr size = check_element(expression, "the size of a block");
  if (size->op == Op::kRows) return {0, {}, Dimension::kRows};
  if (size->op == Op::kColumns) return {0, {}, Dimension::kColumns};
  if (size->op == Op::kParameter) {
    const ProgramParameter& parameter = program_.parameters[size->parameter];
    if (parameter.type.is_integer() && parameter.least >= 1 && parameter.most <= 65536) return {0, size->parameter, {}};
    refuse(expression.at, "`" + parameter.name + "` may be no size of a block",
           "declare it like `uint " + parameter.name + " = 128 in 16..65536 step 16`");
  }
  if (size->op == Op::kConstant && size->number >= 1 && size->number <= 65536 &&
      size->number == std::floor(size->number)) {
    return {static_cast<std::uint32_t>(size->number), {}, {}};
  }
  refuse(expression.at, "the size of a block is a parameter or a number from 1 to 65536");
}

}  // namespace casync::compll
