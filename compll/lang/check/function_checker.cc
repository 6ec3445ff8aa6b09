// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/check/function_checker.h"

#include <algorithm>
#include <set>
#include <utility>

#include "compll/lang/check/code_checker.h"
#include "compll/lang/check/control.h"

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

const Declared::Callable* FunctionChecker::callable(std::string_view name) const {
  const Declared* declared = code_.variables.names().find(name);
  return declared == nullptr ? nullptr : std::get_if<Declared::Callable>(&declared->what);
}

Terms FunctionChecker::call(const Declared::Callable& what, std::string_view name, Terms arguments, Span at) {
  const Names::Hidden hidden(code_.variables.names(), what.scope);
  return what.lambda != nullptr ? run_body(what.lambda->parameters, what.lambda->results, what.lambda->body, name,
                                           std::move(arguments), at)
                                : run_body(what.function->parameters, what.function->results, what.function->body, name,
                                           std::move(arguments), at);
}

Terms FunctionChecker::run_body(const std::vector<Variable>& parameters, const std::vector<TypeName>& results,
                                const Block& block, std::string_view name, Terms arguments, Span at) {
  Place& place = code_.place;
  Variables& variables = code_.variables;
  const std::string quoted = "`" + std::string(name) + "`";
  if (arguments.size() != parameters.size()) {
    code_.refuse(at, quoted + " takes " + std::to_string(parameters.size()) + " arguments, here are " +
                         std::to_string(arguments.size()));
  }
  if (place.calls == kMostCalls) {
    code_.refuse(at, "functions call each other more than " + std::to_string(kMostCalls) + " deep here",
                 "a function cannot call itself");
  }
  Control control;
  for (const TypeName& result : results) control.types.push_back(code_.types.type_of(result));
  const std::size_t depth = variables.names().depth(), slots = variables.values().size();
  control.outside = slots;
  Control* const around = place.control;
  variables.names().enter();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Word& word = parameters[i].name;
    const DeclaredType type = code_.types.type_of(parameters[i].type);
    TermPtr value = code_.statements.fit(std::move(arguments[i]), type, "`" + std::string(word.text) + "`", at);
    variables.declare_variable(word, type, variables.keep(terms(std::move(value)), word.text, at).front());
  }
  place.control = &control;
  ++place.calls;
  const auto leave = [&] {
    --place.calls;
    place.control = around;
    variables.names().leave(depth);
    variables.values().resize(slots);
  };
  try {
    code_.statements.check_block(block);
  } catch (const CheckMistake&) {
    leave();
    throw;
  }
  leave();
  if (control.always_returned()) variables.values() = control.left;
  const bool nothing = results.size() == 1 && control.types.front().element == kVoidType;
  if (!nothing && !control.always_returned()) {
    code_.refuse(at, quoted + " does not return on every way through it", "end it with `return`, or add the `else`");
  }
  Terms values;
  for (const VariableId id : control.results) {
    values.push_back(make_variable(at, id, code_.program.variables[id].type));
  }
  return values;
}

std::unique_ptr<Body> FunctionChecker::body_of(const Expression& function, const std::vector<ScalarType>& elements,
                                               const std::string& of) {
  Place& place = code_.place;
  Variables& variables = code_.variables;
  const auto* name = std::get_if<Name>(&function.node);
  const auto* lambda = std::get_if<Lambda>(&function.node);
  const Declared::Callable written{nullptr, lambda, variables.names().depth()};
  const Declared::Callable* what = lambda != nullptr ? &written : name != nullptr ? callable(name->text) : nullptr;
  if (what == nullptr) {
    code_.refuse(function.at, of + " needs a function here",
                 "write `[&](float x) -> float { return x; }`, or a function's name");
  }
  auto body = std::make_unique<Body>();
  std::vector<Step>* const steps = place.steps;
  place.steps = &body->steps;
  ++place.level;
  const auto leave = [&] {
    --place.level;
    place.steps = steps;
  };
  try {
    Terms arguments;
    for (const ScalarType element : elements) {
      body->parameters.push_back(variables.new_variable("x", {element, {}}, function.at));
      arguments.push_back(make_variable(function.at, body->parameters.back(), {element, {}}));
    }
    body->results = call(*what, name != nullptr ? name->text : "the function", std::move(arguments), function.at);
  } catch (const CheckMistake&) {
    leave();
    throw;
  }
  leave();
  for (const TermPtr& result : body->results) {
    if (result->type().is_array()) {
      code_.refuse(function.at, of + " needs a function that returns elements, not an array");
    }
  }
  if (body->results.empty()) code_.refuse(function.at, of + " needs a function that returns something");
  remove_unused_steps(*body);
  return body;
}

}  // namespace casync::compll
