// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/check/size_checker.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "compll/lang/check/code_checker.h"

namespace casync::compll {
namespace {

constexpr double kMostFixed = 65536;
constexpr std::size_t kMostTerms = 1000;  // of one size

bool same(const Term& a, const Term& b) {
  if (a.op != b.op || a.types != b.types || a.number != b.number || a.parameter != b.parameter) return false;
  if (a.op == Op::kSize) return a.arguments.front()->type().extent == b.arguments.front()->type().extent;
  return std::equal(a.arguments.begin(), a.arguments.end(), b.arguments.begin(), b.arguments.end(),
                    [](const TermPtr& x, const TermPtr& y) { return same(*x, *y); });
}

/// Copies a term with its variables replaced by the terms that they were given. Null where it depends on an element.
class Closing {
 public:
  explicit Closing(const std::map<VariableId, const Term*>& known) : known_(known) {}

  bool is_too_large() const { return terms_ > kMostTerms; }

  TermPtr close(const Term& term) {
    if (++terms_ > kMostTerms) return nullptr;
    if (term.op == Op::kVariable) {
      const auto found = known_.find(term.variable);
      return found == known_.end() ? nullptr : close(*found->second);
    }
    const bool leaf =
        term.op == Op::kConstant || term.op == Op::kParameter || term.op == Op::kRows || term.op == Op::kColumns;
    if (!leaf && !is_scalar(term.op) && term.op != Op::kSize) return nullptr;
    TermPtr copy = make_term(term.op, term.at, term.type());
    copy->number = term.number;
    copy->parameter = term.parameter;
    for (const TermPtr& argument : term.arguments) {
      // Only the type of an array whose size is needed matters.
      copy->arguments.push_back(term.op == Op::kSize ? make_variable(argument->at, 0, argument->type())
                                                     : close(*argument));
      if (copy->arguments.back() == nullptr) return nullptr;
    }
    return copy;
  }

 private:
  const std::map<VariableId, const Term*>& known_;
  std::size_t terms_ = 0;
};

TermPtr copy_of(const Term& size) {
  TermPtr copy = make_term(size.op, size.at, size.type());
  copy->number = size.number;
  copy->parameter = size.parameter;
  for (const TermPtr& argument : size.arguments) copy->arguments.push_back(copy_of(*argument));
  return copy;
}

bool is_product(const Term& size, Op first, Op second) {
  return size.op == Op::kMultiply && size.arguments[0]->op == first && size.arguments[1]->op == second;
}

}  // namespace

void SizeChecker::declare_shape(const Word& rows, const Word& columns) {
  code_.variables.declare(rows, Declared::DimensionName{Dimension::kRows});
  code_.variables.declare(columns, Declared::DimensionName{Dimension::kColumns});
  has_shape_ = true;
}

void SizeChecker::need_shape(Span at, const std::string& of) const {
  if (has_shape_) return;
  code_.refuse(at, of + " needs to know how many rows and columns the gradient has",
               "declare them in the codec block: `shape rows columns;`");
}

Extent SizeChecker::size_of(const Expression& expression, const std::string& of) {
  TermPtr size = code_.expressions.check_element(expression, of);
  if (!size->type().element.is_integer()) {
    code_.refuse(expression.at, "a size that is no integer", "convert it: `uint(x)`");
  }
  if (size->op == Op::kConstant && !(size->number >= 0)) code_.refuse(expression.at, "a size below zero");
  size = convert(std::move(size), kUintType);
  Closing closing(code_.variables.elements());
  TermPtr value = closing.close(*size);
  if (closing.is_too_large()) code_.refuse(expression.at, "the size is computed in more than 1000 steps");
  if (value == nullptr && is_size_without_padding(*size)) return {};
  const std::optional<Extent> counted = value == nullptr ? code_.selections.counted_by(*size) : std::nullopt;
  if (counted && of == "`range`") return *counted;
  if (value == nullptr) {
    code_.refuse(expression.at, of + " of a size that depends on elements",
                 counted ? "give it a number, a parameter or the size of what was selected from; what is made of a "
                           "selection by `map`, `gather` and `range` has as many elements as the selection"
                         : "an array's size does not depend on the gradient's values: compute it from parameters and "
                           "`x.size`");
  }
  const std::string_view source = code_.diagnostics.source().text();
  const std::string text(source.substr(expression.at.begin, expression.at.end - expression.at.begin));
  return extent_of(std::move(value), text);
}

Constant SizeChecker::block_size(const Expression& expression) const {
  const TermPtr size = code_.expressions.check_element(expression, "the size of a block");
  if (size->op == Op::kRows) return {0, {}, Dimension::kRows};
  if (size->op == Op::kColumns) return {0, {}, Dimension::kColumns};
  if (size->op == Op::kParameter) {
    const ProgramParameter& parameter = code_.program.parameters[size->parameter];
    if (parameter.type.is_integer() && parameter.least >= 1 && parameter.most <= 65536) return {0, size->parameter, {}};
    code_.refuse(expression.at, "`" + parameter.name + "` may be no size of a block",
                 "declare it like `uint " + parameter.name + " = 128 in 16..65536 step 16`");
  }
  const bool fits = size->op == Op::kConstant && size->number >= 1 && size->number <= 65536 &&
                    size->number == std::floor(size->number);
  if (fits) return {static_cast<std::uint32_t>(size->number), {}, {}};
  code_.refuse(expression.at, "the size of a block is a parameter or a number from 1 to 65536");
}

/// The term that a value was made by, through conversions and variables of one element.
const Term& SizeChecker::source_of(const Term& term) const {
  const auto& elements = code_.variables.elements();
  const auto known = term.op == Op::kVariable ? elements.find(term.variable) : elements.end();
  if (term.op == Op::kConvert) return source_of(*term.arguments.front());
  return known != elements.end() ? source_of(*known->second) : term;
}

/// `codes.size - tail` in decode, where `tail` comes from the payload: the elements of an array less those that fill
/// its last byte. Here nothing fills it, and the gradient has as many elements as the array.
bool SizeChecker::is_size_without_padding(const Term& size) const {
  const Term& difference = source_of(size);
  if (code_.place.kind != RoutineKind::kDecode || difference.op != Op::kSubtract) return false;
  const Term &all = source_of(*difference.arguments[0]), &padding = source_of(*difference.arguments[1]);
  const bool of_gradient = all.op == Op::kSize && all.arguments.front()->type().is_over(Extent::Kind::kElements);
  const auto& sent = code_.place.routine->extracted;
  return of_gradient && padding.op == Op::kVariable &&
         std::find(sent.begin(), sent.end(), padding.variable) != sent.end();
}

Extent SizeChecker::extent_of(TermPtr value, const std::string& text) {
  if (value->op == Op::kSize) return *value->arguments.front()->type().extent;
  if (value->op == Op::kConstant && value->number <= kMostFixed) {
    return {Extent::Kind::kFixed, {static_cast<std::uint32_t>(value->number), {}, {}}};
  }
  if (is_product(*value, Op::kRows, Op::kColumns) || is_product(*value, Op::kColumns, Op::kRows)) return {};
  std::vector<ProgramSize>& sizes = code_.program.sizes;
  auto known = std::find_if(sizes.begin(), sizes.end(), [&](const ProgramSize& s) { return same(*s.value, *value); });
  if (known == sizes.end()) known = sizes.insert(sizes.end(), {std::move(value), text});
  return {Extent::Kind::kSized, {static_cast<std::uint32_t>(known - sizes.begin()), {}, {}}};
}

TermPtr SizeChecker::vectors_of(const Extent& extent, Dimension dimension) const {
  const bool rows = dimension == Dimension::kRows;
  const Op wanted = rows ? Op::kRows : Op::kColumns, other = rows ? Op::kColumns : Op::kRows;
  if (extent.kind == Extent::Kind::kElements && has_shape_) return make_term(other, {}, {kUintType, {}});
  if (extent.kind != Extent::Kind::kSized) return nullptr;
  const Term& size = *code_.program.sizes[extent.count.value].value;
  if (size.op != Op::kMultiply) return size.op == wanted ? make_constant({}, kUintType, 1) : nullptr;
  for (const std::size_t i : {std::size_t{1}, std::size_t{0}}) {
    if (size.arguments[i]->op == wanted) return copy_of(*size.arguments[1 - i]);
  }
  return nullptr;
}

TermPtr SizeChecker::count_of(const Extent& extent) const {
  if (extent.kind == Extent::Kind::kFixed) return make_constant({}, kUintType, extent.count.value);
  if (extent.kind == Extent::Kind::kSized) return copy_of(*code_.program.sizes[extent.count.value].value);
  return nullptr;
}

Extent SizeChecker::extent_of_vectors(TermPtr count, Dimension dimension) {
  const std::string name(name_of(dimension));
  TermPtr length = make_term(dimension == Dimension::kRows ? Op::kRows : Op::kColumns, {}, {kUintType, {}});
  if (count->op == Op::kConstant && count->number == 1) return extent_of(std::move(length), name);
  const std::string text = text_of_size(*count) + " * " + name;
  return extent_of(make_term(Op::kMultiply, {}, {kUintType, {}}, terms(std::move(count), std::move(length))), text);
}

bool SizeChecker::has_as_many(const Extent& a, Dimension of_a, const Extent& b, Dimension of_b) const {
  const TermPtr first = vectors_of(a, of_a), second = vectors_of(b, of_b);
  return first != nullptr && second != nullptr && same(*first, *second);
}

std::string SizeChecker::text_of_size(const Term& size) const {
  switch (size.op) {
    case Op::kConstant: return std::to_string(static_cast<std::uint64_t>(size.number));
    case Op::kParameter: return code_.program.parameters[size.parameter].name;
    case Op::kRows:
    case Op::kColumns: return std::string(name_of(size.op));
    case Op::kConvert: return text_of_size(*size.arguments.front());
    case Op::kMin: return "min(" + text_of_size(*size.arguments[0]) + ", " + text_of_size(*size.arguments[1]) + ")";
    default: return "so many";
  }
}

std::string SizeChecker::text_of(const Extent& extent) const {
  if (extent.kind == Extent::Kind::kSized) return "`" + code_.program.sizes[extent.count.value].text + "`";
  const auto& parameter = extent.count.parameter;
  if (extent.kind == Extent::Kind::kBlocks && parameter) {
    return "ceil(n / " + code_.program.parameters[*parameter].name + ")";
  }
  return compll::text_of(extent);
}

}  // namespace casync::compll
