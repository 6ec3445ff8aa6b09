// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/check/control.h"

#include <string>
#include <utility>

#include "compll/lang/check/code_checker.h"

namespace casync::compll {
namespace {

void need_element(CodeChecker& code, const Type& type, Span at) {
  if (type.is_array()) code.refuse(at, "two arrays to choose between", "choose between elements, in a `map`");
}

}  // namespace

void Control::give_back(CodeChecker& code, Terms values, const Expression& at) {
  if (values.size() == 1 && values.front()->types.size() > 1) {  // another function's results
    const std::vector<VariableId> kept = code.variables.keep(std::move(values), "result", at.at);
    values.clear();
    for (const VariableId id : kept) values.push_back(make_variable(at.at, id, code.program.variables[id].type));
  }
  if (values.size() != types.size()) {
    code.refuse(at.at, "the function has " + std::to_string(types.size()) + " results, this returns " +
                           std::to_string(values.size()));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = code.statements.fit(std::move(values[i]), types[i], "the function's result", at.at);
  }
  Control later;
  later.returned = Returned::kAlways;
  later.results = code.variables.keep(std::move(values), "result", at.at);
  later.left = code.variables.values();
  later.left.resize(outside);
  then(code, later, at.at);
}

void Control::join(CodeChecker& code, VariableId condition, const Control& yes, const Control& no, Span at) {
  if (yes.returned == Returned::kNever && no.returned == Returned::kNever) return;
  const auto chosen = [&](TermPtr first, TermPtr second) {
    TermPtr choice =
        make_select(at, make_variable(at, condition, {kBoolType, {}}), std::move(first), std::move(second));
    return code.variables.keep(terms(std::move(choice)), "returned", at).front();
  };
  const auto whether = [&](const Control& branch) {
    if (branch.returned == Returned::kSometimes) return make_variable(at, branch.when, {kBoolType, {}});
    return make_constant(at, kBoolType, branch.always_returned() ? 1 : 0);
  };
  Control later;
  later.results = yes.results.empty() ? no.results : yes.results;
  for (std::size_t i = 0; i < later.results.size() && !yes.results.empty() && !no.results.empty(); ++i) {
    const Type type = code.program.variables[later.results[i]].type;
    need_element(code, type, at);
    later.results[i] = chosen(make_variable(at, yes.results[i], type), make_variable(at, no.results[i], type));
  }
  if (yes.returned == Returned::kNever) {
    later.left = no.left;
  } else if (no.returned == Returned::kNever) {
    later.left = yes.left;
  } else {
    later.left = code.statements.chosen(condition, yes.left, no.left, at, "in each branch");
  }
  const bool always = yes.always_returned() && no.always_returned();
  later.returned = always ? Returned::kAlways : Returned::kSometimes;
  later.when = always ? 0 : chosen(whether(yes), whether(no));
  then(code, later, at);
}

void Control::then(CodeChecker& code, const Control& later, Span at) {
  if (returned == Returned::kNever) {
    returned = later.returned;
    when = later.when;
    results = later.results;
    left = later.left;
    return;
  }
  const auto before = [&] { return make_variable(at, when, {kBoolType, {}}); };
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Type type = code.program.variables[results[i]].type;
    need_element(code, type, at);
    TermPtr choice =
        make_select(at, before(), make_variable(at, results[i], type), make_variable(at, later.results[i], type));
    results[i] = code.variables.keep(terms(std::move(choice)), "result", at).front();
  }
  left = code.statements.chosen(when, left, later.left, at, "after a `return` in a branch");
  if (later.returned == Returned::kSometimes) {
    TermPtr either =
        make_term(Op::kOr, at, {kBoolType, {}}, terms(before(), make_variable(at, later.when, {kBoolType, {}})));
    when = code.variables.keep(terms(std::move(either)), "returned", at).front();
  }
  returned = later.returned;
}

}  // namespace casync::compll
