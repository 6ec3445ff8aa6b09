// SPDX-License-Identifier: Apache-2.0
//
// How many elements an array has is known before a program runs: a formula of n and parameters.
#include <algorithm>

#include "compll/lang/code_checker.h"
#include "compll/lang/terms.h"

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

/// A copy of a term in which the variables are what they were given. Null where it depends on an element.
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
    const bool leaf = term.op == Op::kConstant || term.op == Op::kParameter;
    const bool computes = term.op >= Op::kConvert && term.op <= Op::kMax;
    if (!leaf && !computes && term.op != Op::kSize) return nullptr;
    TermPtr copy = make_term(term.op, term.at, term.type());
    copy->number = term.number;
    copy->parameter = term.parameter;
    for (const TermPtr& argument : term.arguments) {
      // Of an array whose size is asked for only the type is of interest.
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

}  // namespace

Extent CodeChecker::size_of(const Expression& expression, const std::string& of) {
  TermPtr size = check_element(expression, of);
  if (!size->type().element.is_integer()) {
    refuse(expression.at, "a size that is no integer", "convert it: `uint(x)`");
  }
  if (size->op == Op::kConstant && !(size->number >= 0)) refuse(expression.at, "a size below zero");
  size = convert(std::move(size), kUintType);
  Closing closing(elements_);
  TermPtr value = closing.close(*size);
  if (closing.is_too_large()) refuse(expression.at, "the size is computed in more than 1000 steps");
  if (value == nullptr) {
    refuse(expression.at, of + " of a size that depends on elements",
           "an array's size is known before a program runs: compute it from parameters and `x.size`");
  }
  if (value->op == Op::kSize) return *value->arguments.front()->type().extent;
  if (value->op == Op::kConstant && value->number <= kMostFixed) {
    return {Extent::Kind::kFixed, {static_cast<std::uint32_t>(value->number), {}}};
  }
  std::vector<ProgramSize>& sizes = program_.sizes;
  auto known = std::find_if(sizes.begin(), sizes.end(), [&](const ProgramSize& s) { return same(*s.value, *value); });
  if (known == sizes.end()) {
    const std::string text(
        diagnostics_.source().text().substr(expression.at.begin, expression.at.end - expression.at.begin));
    known = sizes.insert(sizes.end(), {std::move(value), text});
  }
  return {Extent::Kind::kSized, {static_cast<std::uint32_t>(known - sizes.begin()), {}}};
}

std::string CodeChecker::text_of(const Extent& extent) const {
  if (extent.kind == Extent::Kind::kSized) return "`" + program_.sizes[extent.count.value].text + "`";
  const auto& parameter = extent.count.parameter;
  if (extent.kind == Extent::Kind::kBlocks && parameter) {
    return "ceil(n / " + program_.parameters[*parameter].name + ")";
  }
  return compll::text_of(extent);
}

}  // namespace casync::compll
