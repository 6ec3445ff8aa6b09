// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "compll/lang/code_checker.h"
#include "compll/lang/control.h"
#include "compll/lang/terms.h"

namespace casync::compll {
namespace {

constexpr int kMostCalls = 32;  // one inside of the other

/// Removes steps that no result is made of. Nothing outside of a body uses its variables.
void remove_unused_steps(Body& body) {
  std::set<VariableId> used;
  const auto use = [&](const Term& value) {
    for_each_term(value, [&](const Term& each) {
      if (each.op == Op::kVariable) used.insert(each.variable);
    });
  };
  for (const TermPtr& result : body.results) use(*result);
  const auto is_unused = [&](const Step& step) {
    return std::none_of(step.variables.begin(), step.variables.end(), [&](VariableId id) { return used.contains(id); });
  };
  for (std::size_t i = body.steps.size(); i-- > 0;) {
    if (!is_unused(body.steps[i])) use(*body.steps[i].value);
  }
  std::erase_if(body.steps, is_unused);
}

}  // namespace

void CodeChecker::Control::give_back(CodeChecker& checker, Terms values, const Expression& at) {
  if (values.size() == 1 && values.front()->types.size() > 1) {  // another function's results
    const std::vector<VariableId> kept = checker.keep(std::move(values), "result", at.at);
    values.clear();
    for (const VariableId id : kept) values.push_back(make_variable(at.at, id, checker.program_.variables[id].type));
  }
  if (values.size() != types.size()) {
    checker.refuse(at.at, "the function has " + std::to_string(types.size()) + " results, this returns " +
                              std::to_string(values.size()));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = checker.fit(std::move(values[i]), types[i], "the function's result", at.at);
  }
  then(checker, Returned::kAlways, 0, checker.keep(std::move(values), "result", at.at), at.at);
}

void CodeChecker::Control::join(CodeChecker& checker, VariableId condition, const Control& yes, const Control& no,
                                Span at) {
  if (yes.returned == Returned::kNever && no.returned == Returned::kNever) return;
  const auto chosen = [&](TermPtr first, TermPtr second) {
    return checker
        .keep(
            terms(make_select(at, make_variable(at, condition, {kBoolType, {}}), std::move(first), std::move(second))),
            "returned", at)
        .front();
  };
  const auto whether = [&](const Control& branch) {
    if (branch.returned == Returned::kSometimes) return make_variable(at, branch.when, {kBoolType, {}});
    return make_constant(at, kBoolType, branch.always_returned() ? 1 : 0);
  };
  std::vector<VariableId> joined = yes.results.empty() ? no.results : yes.results;
  for (std::size_t i = 0; i < joined.size() && !yes.results.empty() && !no.results.empty(); ++i) {
    const Type type = checker.program_.variables[joined[i]].type;
    if (type.is_array()) checker.refuse(at, "two arrays to choose between", "choose between elements, in a `map`");
    joined[i] = chosen(make_variable(at, yes.results[i], type), make_variable(at, no.results[i], type));
  }
  const bool always = yes.always_returned() && no.always_returned();
  const VariableId some = always ? 0 : chosen(whether(yes), whether(no));
  then(checker, always ? Returned::kAlways : Returned::kSometimes, some, joined, at);
}

void CodeChecker::Control::then(CodeChecker& checker, Returned returned_later, VariableId when_later,
                                const std::vector<VariableId>& results_later, Span at) {
  if (returned == Returned::kNever) {
    returned = returned_later;
    when = when_later;
    results = results_later;
    return;
  }
  const auto before = [&] { return make_variable(at, when, {kBoolType, {}}); };
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Type type = checker.program_.variables[results[i]].type;
    if (type.is_array()) checker.refuse(at, "two arrays to choose between", "choose between elements, in a `map`");
    results[i] = checker
                     .keep(terms(make_select(at, before(), make_variable(at, results[i], type),
                                             make_variable(at, results_later[i], type))),
                           "result", at)
                     .front();
  }
  if (returned_later == Returned::kSometimes) {
    TermPtr either =
        make_term(Op::kOr, at, {kBoolType, {}}, terms(before(), make_variable(at, when_later, {kBoolType, {}})));
    when = checker.keep(terms(std::move(either)), "returned", at).front();
  }
  returned = returned_later;
}

const Declared::Callable* CodeChecker::callable(std::string_view name) const {
  const Declared* declared = names_.find(name);
  return declared == nullptr ? nullptr : std::get_if<Declared::Callable>(&declared->what);
}

/// Puts a function where it is called.
Terms CodeChecker::call(const Declared::Callable& what, std::string_view name, Terms arguments, Span at) {
  const Names::Hidden hidden(names_, what.scope);
  return what.lambda != nullptr ? run_body(what.lambda->parameters, what.lambda->results, what.lambda->body, name,
                                           std::move(arguments), at)
                                : run_body(what.function->parameters, what.function->results, what.function->body, name,
                                           std::move(arguments), at);
}

Terms CodeChecker::run_body(const std::vector<Variable>& parameters, const std::vector<TypeName>& results,
                            const Block& block, std::string_view name, Terms arguments, Span at) {
  const std::string quoted = "`" + std::string(name) + "`";
  if (arguments.size() != parameters.size()) {
    refuse(at, quoted + " takes " + std::to_string(parameters.size()) + " arguments, here are " +
                   std::to_string(arguments.size()));
  }
  if (calls_ == kMostCalls) {
    refuse(at, "functions call each other more than " + std::to_string(kMostCalls) + " deep here",
           "a function cannot call itself");
  }
  Control control;
  for (const TypeName& result : results) control.types.push_back(type_of(result));
  const std::size_t depth = names_.depth(), slots = values_.size();
  Control* const around = control_;
  names_.enter();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const DeclaredType type = type_of(parameters[i].type);
    TermPtr value = fit(std::move(arguments[i]), type, "`" + std::string(parameters[i].name.text) + "`", at);
    declare_variable(parameters[i].name, type, keep(terms(std::move(value)), parameters[i].name.text, at).front());
  }
  control_ = &control;
  ++calls_;
  const auto leave = [&] {
    --calls_;
    control_ = around;
    names_.leave(depth);
    values_.resize(slots);
  };
  try {
    check_block(block);
  } catch (const CheckMistake&) {
    leave();
    throw;
  }
  leave();
  const bool nothing = results.size() == 1 && control.types.front().element == kVoidType;
  if (!nothing && !control.always_returned()) {
    refuse(at, quoted + " does not return on every way through it", "end it with `return`, or add the `else`");
  }
  Terms values;
  for (const VariableId id : control.results) values.push_back(make_variable(at, id, program_.variables[id].type));
  return values;
}

/// A function that an operator applies to elements: a name, or one written on the spot.
std::unique_ptr<Body> CodeChecker::body_of(const Expression& function, const std::vector<ScalarType>& elements,
                                           const std::string& of) {
  const auto* name = std::get_if<Name>(&function.node);
  const auto* lambda = std::get_if<Lambda>(&function.node);
  const Declared::Callable written{nullptr, lambda, names_.depth()};
  const Declared::Callable* what = lambda != nullptr ? &written : name != nullptr ? callable(name->text) : nullptr;
  if (what == nullptr) {
    refuse(function.at, of + " needs a function here",
           "write `[&](float x) -> float { return x; }`, or a function's name");
  }
  auto body = std::make_unique<Body>();
  std::vector<Step>* const steps = steps_;
  steps_ = &body->steps;
  ++level_;
  const auto leave = [&] {
    --level_;
    steps_ = steps;
  };
  try {
    Terms arguments;
    for (const ScalarType element : elements) {
      body->parameters.push_back(new_variable("x", {element, {}}, function.at));
      arguments.push_back(make_variable(function.at, body->parameters.back(), {element, {}}));
    }
    body->results = call(*what, name != nullptr ? name->text : "the function", std::move(arguments), function.at);
  } catch (const CheckMistake&) {
    leave();
    throw;
  }
  leave();
  for (const TermPtr& result : body->results) {
    if (result->type().is_array()) refuse(function.at, of + " needs a function that returns elements, not an array");
  }
  if (body->results.empty()) refuse(function.at, of + " needs a function that returns something");
  remove_unused_steps(*body);
  return body;
}

}  // namespace casync::compll
