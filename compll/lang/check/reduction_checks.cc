// SPDX-License-Identifier: Apache-2.0
//
// The checks of operators that make one of many elements.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "compll/lang/check/operator_checks.h"

namespace casync::compll {
namespace {

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
constexpr const char* kInitial = "the value a reduction begins with";

const NamedReducer* named_reducer(std::string_view name) {
  const auto found = std::find_if(kReducers.begin(), kReducers.end(), [&](const auto& r) { return r.name == name; });
  return found == kReducers.end() ? nullptr : &*found;
}

/// Decides if a function of two elements gives one of them, as far as its text shows.
class Picks {
 public:
  explicit Picks(const Body& body) : body_(body), picked_(body.parameters.begin(), body.parameters.end()) {
    for (const Step& step : body.steps) {
      if (step.variables.size() == 1 && picks(*step.value)) picked_.insert(step.variables.front());
    }
  }
  bool one() const { return picks(*body_.results.front()); }

 private:
  bool picks(const Term& term) const {
    switch (term.op) {
      case Op::kVariable: return picked_.contains(term.variable);
      case Op::kSelect: return picks(*term.arguments[1]) && picks(*term.arguments[2]);
      case Op::kMin:
      case Op::kMax: return picks(*term.arguments[0]) && picks(*term.arguments[1]);
      default: return false;
    }
  }

  const Body& body_;
  std::set<VariableId> picked_;  ///< the variables that are one of the two elements
};

/// One use of `reduce` or `block_reduce`.
class Reduction {
 public:
  explicit Reduction(const OperatorUse& use)
      : use_(use), blocks_(use.word() == "block_reduce"), own_(blocks_ ? 2 : 1) {}

  TermPtr check() {
    if (use_.count() == own_) use_.refuse(use_.at.at, use_.quoted() + " needs to know how", kReducerHint);
    TermPtr array = use_.array(0);
    const ScalarType element = array->type().element;
    if (!element.is_number()) {
      use_.refuse(use_.argument(0).at, "a reduction of " + text_of(element) + "s", "reduce numbers");
    }
    Constant block;
    std::optional<Extent> extent;
    if (blocks_) {
      block = use_.code.sizes.block_size(use_.argument(1));
      extent = extent_of_blocks(*array->type().extent, block);
    }
    TermPtr term = use_.term(blocks_ ? Op::kBlockReduce : Op::kReduce, {element, extent}, terms(std::move(array)));
    term->block = block;
    apply(*term);
    if (term->reducer != Reducer::kUser) leave_out_fill(*term);
    if (!has_initial() || term->reducer == Reducer::kUser) return term;
    const Op op = term->reducer == Reducer::kMin ? Op::kMin : Op::kMax;
    TermPtr begin = initial(element);
    return use_.term(op, {element, {}}, terms(std::move(begin), std::move(term)));
  }

 private:
  bool has_initial() const { return use_.count() == own_ + 2; }
  TermPtr initial(ScalarType element) const {
    return convert(use_.code.expressions.check_element(use_.argument(own_), kInitial), element);
  }

  Extent extent_of_blocks(const Extent& all, const Constant& block) const {
    SizeChecker& sizes = use_.code.sizes;
    const Span at = use_.argument(0).at;
    if (!block.dimension) {
      if (all.kind == Extent::Kind::kElements) return {Extent::Kind::kBlocks, block};
      use_.refuse(at, "blocks of what has " + sizes.text_of(all) + " elements, not n");
    }
    TermPtr vectors = sizes.vectors_of(all, *block.dimension);
    if (vectors == nullptr) {
      use_.refuse(at,
                  sizes.text_of(all) + " elements are no vectors of `" + std::string(name_of(*block.dimension)) + "`");
    }
    const std::string text = sizes.text_of_size(*vectors);
    return sizes.extent_of(std::move(vectors), text);
  }

  void apply(Term& term) {
    const Expression& reducer = use_.last();
    const auto* name = std::get_if<Name>(&reducer.node);
    name != nullptr&& use_.code.functions.callable(name->text) == nullptr ? apply_named(term, *name)
                                                                          : apply_function(term);
  }

  void apply_named(Term& term, const Name& name) {
    const Span at = use_.last().at;
    const ScalarType element = term.type().element;
    const NamedReducer* const known = named_reducer(name.text);
    if (known == nullptr) {
      use_.refuse(at, "there is no way to reduce called `" + std::string(name.text) + "`", kReducerHint);
    }
    const bool is_end = known->reducer == Reducer::kMin || known->reducer == Reducer::kMax;
    if (has_initial() && (!is_end || blocks_)) {
      use_.refuse(use_.argument(own_).at, "`" + std::string(name.text) + "` begins by itself",
                  "leave the initial value out");
    }
    term.reducer = known->reducer;
    if (known->reducer == Reducer::kMagnitude && element != kFloatType) {
      use_.refuse(at, "`magnitude` of " + text_of(element) + "s", "it is for floats; use `max`");
    }
    if (known->reducer == Reducer::kCount) term.types.front().element = kUintType;
    if (known->reducer == Reducer::kSum) {
      term.types.front().element = element.is_float() ? kDoubleType : common_type(element, element);
    }
  }

  void apply_function(Term& term) {
    const Span at = use_.last().at;
    const ScalarType element = term.type().element;
    term.reducer = Reducer::kUser;
    term.function = use_.code.functions.body_of(use_.last(), {element, element}, use_.quoted());
    use_.need_no_random(*term.function, at);
    if (term.function->results.size() != 1) use_.refuse(at, "a reduction by a function of several results");
    const ScalarType given = term.function->results.front()->type().element;
    if (given != element) {
      use_.refuse(at, "the function gives " + text_of(given) + ", the array has " + text_of(element),
                  "two elements become one of the same type");
    }
    if (!has_initial()) return begin_with_first(term);
    TermPtr begin = initial(element);
    if (is_selection(term)) begin = fill_with(term, std::move(begin));
    term.arguments.push_back(std::move(begin));
  }

  bool is_selection(const Term& term) const {
    return use_.code.selections.is_selection(term.arguments.front()->type());
  }

  /// Puts a value behind the last element of a selection that changes no sum, least, greatest, magnitude or count.
  void leave_out_fill(Term& term) const {
    const ScalarType type = term.arguments.front()->type().element;
    const double infinity = std::numeric_limits<double>::infinity();
    double fill = 0;
    if (term.reducer == Reducer::kMin) fill = type.is_float() ? infinity : static_cast<double>(most_of(type));
    if (term.reducer == Reducer::kMax) fill = type.is_float() ? -infinity : static_cast<double>(least_of(type));
    term.arguments.front() = use_.code.selections.filled(std::move(term.arguments.front()), fill);
  }

  /// A function that gives one of its two elements may see the value that it begins with often. Returns that value.
  TermPtr fill_with(Term& term, TermPtr begin) const {
    const Span at = use_.node.callee.at;
    if (!Picks(*term.function).one()) {
      use_.refuse(
          at, "a reduction by this function of as many elements as a condition holds for",
          "reduce by sum, min, max, magnitude, count or a function that gives one of its two elements; or reduce "
          "what was selected from");
    }
    const Type type = begin->type();
    const VariableId kept = use_.code.variables.keep(terms(std::move(begin)), "initial", at).front();
    TermPtr& array = term.arguments.front();
    array = use_.code.selections.filled(std::move(array), type.element, make_variable(at, kept, type));
    return make_variable(at, kept, type);
  }

  /// Begins with the first element. A function that gives one of its two elements may see that one twice.
  void begin_with_first(Term& term) {
    const Span at = use_.node.callee.at;
    if (blocks_ || !Picks(*term.function).one()) {
      use_.refuse(at, "a reduction by this function needs the value it begins with",
                  "write `" + std::string(use_.word()) + (blocks_ ? "(x, block, 0, f)" : "(x, 0, f)") +
                      "`; only `reduce` by a function that gives one of its two elements can begin with the first");
    }
    const Type type = term.arguments.front()->type();
    const VariableId kept = use_.code.variables.keep(std::move(term.arguments), "array", at).front();
    term.arguments = terms(make_variable(at, kept, type));
    TermPtr first = use_.code.selections.element_of(make_variable(at, kept, type), make_constant(at, kIntType, 0), at);
    if (is_selection(term)) first = fill_with(term, std::move(first));
    term.arguments.push_back(std::move(first));
  }

  const OperatorUse& use_;
  const bool blocks_;
  const std::size_t own_;  ///< arguments ahead of the initial value and the reducer
};

}  // namespace

/// reduce(x, sum), reduce(x, initial, f).
TermPtr check_reduce(const OperatorUse& use) { return Reduction(use).check(); }

/// The same for each block: block_reduce(x, block, ...).
TermPtr check_block_reduce(const OperatorUse& use) { return Reduction(use).check(); }

}  // namespace casync::compll
