// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/check/statement_checker.h"

#include <cmath>
#include <utility>
#include <variant>

#include "base/nearest.h"
#include "compll/lang/check/code_checker.h"
#include "compll/lang/check/control.h"

namespace casync::compll {
namespace {

constexpr double kMostRepeats = 256;

}  // namespace

void StatementChecker::check_block(const Block& block) {
  for (const StatementPtr& statement : block) check_statement(*statement);
}

void StatementChecker::check_statement(const Statement& statement) {
  const Control* const control = code_.place.control;
  if (control != nullptr && control->always_returned()) {
    code_.refuse(statement.at, "this comes after `return` and never runs", "remove it");
  }
  try {
    code_.count(statement.at);
    std::visit([&](const auto& node) { check_node(statement, node); }, statement.node);
  } catch (const CheckMistake&) {
    // Inside of a function the result would be missing, and every call would report it again.
    if (code_.place.calls != 0 || code_.diagnostics.full()) throw;
    forgive(statement);
  }
}

/// Takes the variables of a statement that was refused for such as have a value nobody knows: what is made of them is
/// no mistake of its own.
void StatementChecker::forgive(const Statement& statement) {
  Variables& variables = code_.variables;
  if (const auto* assign = std::get_if<Assign>(&statement.node)) return variables.spoil(assign->name.text);
  const auto* declare = std::get_if<Declare>(&statement.node);
  if (declare == nullptr || declare->value == nullptr) return;
  for (const Variable& variable : declare->variables) {
    const Word& word = variable.name;
    if (variables.names().declared_here(word.text) == nullptr) {
      variables.declare_variable(word, {kFloatType, false}, {});
    }
    variables.spoil(word.text);
  }
}

void StatementChecker::check_node(const Statement& at, const Declare& node) {
  Variables& variables = code_.variables;
  if (node.value != nullptr && std::holds_alternative<Lambda>(node.value->node)) {
    if (node.variables.front().type.name.text != "lambda_func") {
      code_.refuse(node.value->at, "a function in a variable", "declare it with `lambda_func`");
    }
    const Lambda& lambda = std::get<Lambda>(node.value->node);
    return variables.declare(node.variables.front().name,
                             Declared::Callable{nullptr, &lambda, variables.names().depth()});
  }
  if (node.value == nullptr) {
    for (const Variable& variable : node.variables) {
      variables.declare_variable(variable.name, code_.types.type_of(variable.type), {});
    }
    return;
  }
  Terms values = code_.expressions.check_terms(*node.value);
  std::vector<Type> given;
  for (const TermPtr& value : values) given.insert(given.end(), value->types.begin(), value->types.end());
  if (given.size() != node.variables.size()) {
    code_.refuse(at.at,
                 std::to_string(node.variables.size()) + " variables for " + std::to_string(given.size()) + " values");
  }
  if (given.size() != 1) return declare_several(node, std::move(values), given);
  const Variable& variable = node.variables.front();
  variables.declare_variable(variable.name, code_.types.type_of(variable.type), {});
  store(*variables.names().declared_here(variable.name.text), std::move(values.front()), node.value->at);
}

void StatementChecker::declare_several(const Declare& node, Terms values, const std::vector<Type>& given) {
  Variables& variables = code_.variables;
  const std::vector<VariableId> kept =
      variables.keep(std::move(values), node.variables.front().name.text, node.value->at);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const Word& word = node.variables[i].name;
    variables.declare_variable(word, code_.types.type_of(node.variables[i].type), {});
    store(*variables.names().declared_here(word.text), make_variable(word.at, kept[i], given[i]), word.at);
  }
}

void StatementChecker::store(const Declared& declared, TermPtr value, Span at) {
  const auto& variable = std::get<Declared::Variable>(declared.what);
  const std::string name = "`" + std::string(declared.name) + "`";
  if (variable.level != code_.place.level) {
    code_.refuse(at, "a function that is applied to elements changes " + name + " outside of it",
                 "elements are worked on in no order; return the value, and let `map` or `reduce` collect it");
  }
  const std::size_t slot = variable.slot;
  if (slot < code_.place.outside_choice) {
    code_.refuse(at, "a function on one side of `?` changes " + name + " outside of it",
                 "both sides are computed: choose by `if`, or return the value");
  }
  TermPtr fitting = fit(std::move(value), variable.type, name, at);
  const VariableId kept = code_.variables.keep(terms(std::move(fitting)), declared.name, at).front();
  code_.variables.values()[slot] = kept;
}

TermPtr StatementChecker::fit(TermPtr value, DeclaredType type, const std::string& name, Span at) {
  const Type given = value->type();
  if (given.element == kVoidType) code_.refuse(at, "this has no value");
  if (given.is_array() != type.array) {
    code_.refuse(at,
                 name + " is " + (type.array ? "an array" : "one element") + ", this is " +
                     (given.is_array() ? "an array" : "one element"),
                 given.is_array() ? "an array is declared with `*`, and `reduce` makes one element of it" : "");
  }
  if (!given.is_array()) return convert(std::move(value), type.element);
  // `int* places = filter(range(x.size), f);`: places that are nowhere are below zero then.
  const bool are_places =
      given.element == kUintType && type.element == kIntType && code_.selections.is_selection(given);
  if (are_places && code_.selections.fill_of(*value) == Scalar::of_uint(kNowhere)) {
    return code_.selections.places_as_ints(std::move(value));
  }
  if (given.element != type.element) {
    code_.refuse(at, name + " has elements of type " + text_of(type.element) + ", this has " + text_of(given.element),
                 "convert them in a `map`, or return that type from its function");
  }
  return value;
}

void StatementChecker::check_node(const Statement& at, const Assign& node) {
  Names& names = code_.variables.names();
  const Place& place = code_.place;
  const Declared* declared = names.find(node.name.text);
  const std::string name = "`" + std::string(node.name.text) + "`";
  if (declared == nullptr) {
    code_.refuse(node.name.at, "there is no variable " + name + hint(node.name.text, names.all()),
                 "declare it: `float " + std::string(node.name.text) + " = ...;`");
  }
  if (declared == place.output && place.level == 0 && place.calls == 0) {
    if (node.sign == "=") return code_.routines.assign_output(at, node.name, *node.value);
    code_.refuse(at.at, "`" + std::string(node.sign) + "` works on one element, " + name + " is an array",
                 "assign it once, with `=`");
  }
  const auto* variable = std::get_if<Declared::Variable>(&declared->what);
  if (variable == nullptr) code_.refuse(node.name.at, name + " is no variable, and cannot be assigned to");
  if (place.kind == RoutineKind::kDecode && code_.states.is_state(*variable)) {
    code_.refuse(node.name.at, name + " is a state, and `decode` keeps none",
                 "what is decoded is nobody's own: a state changes in `encode`, `merge` or `result`");
  }
  ExpressionChecker& expressions = code_.expressions;
  if (node.sign == "=") return store(*declared, expressions.check_one(*node.value), node.value->at);
  TermPtr before = expressions.value_of(node.name.at, node.name.text);
  TermPtr value = expressions.check_one(*node.value);
  if (before->type().is_array() || value->type().is_array()) {
    code_.refuse(at.at, "`" + std::string(node.sign) + "` works on one element", "use `map` for arrays");
  }
  const std::string_view sign = node.sign.substr(0, node.sign.size() - 1);
  store(*declared, expressions.operation(at.at, sign, at.at, std::move(before), std::move(value)), node.value->at);
}

void StatementChecker::check_node(const Statement& at, const If& node) {
  TermPtr holds = code_.expressions.check_condition(*node.condition, "`if`");
  const VariableId condition = code_.variables.keep(terms(std::move(holds)), "if", at.at).front();
  Control* const around = code_.place.control;
  Control yes_control, no_control;
  const Variables::Values yes = run_branch(node.yes, yes_control), no = run_branch(node.no, no_control);
  // After a branch that returned its assignments are seen by the function's caller alone (Control::left).
  code_.variables.values() = chosen(condition, yes_control.always_returned() ? no : yes,
                                    no_control.always_returned() ? yes : no, at.at, "in each branch");
  if (around != nullptr) around->join(code_, condition, yes_control, no_control, at.at);
}

/// Returns the values after a branch; those ahead of it are back afterwards.
Variables::Values StatementChecker::run_branch(const Block& block, Control& control) {
  Place& place = code_.place;
  Names& names = code_.variables.names();
  const Counted inside(place.branches);
  Control* const around = place.control;
  const Variables::Values before = code_.variables.values();
  control.types = around == nullptr ? std::vector<DeclaredType>() : around->types;
  control.outside = around == nullptr ? 0 : around->outside;
  control.conditions = around == nullptr ? 1 : around->conditions + 1;
  place.control = &control;
  const std::size_t depth = names.depth();
  names.enter();
  check_block(block);
  names.leave(depth);
  place.control = around;
  Variables::Values after = std::exchange(code_.variables.values(), before);
  after.resize(before.size());
  return after;
}

Variables::Values StatementChecker::chosen(VariableId condition, const Variables::Values& yes,
                                           const Variables::Values& no, Span at, const std::string& where) {
  Variables::Values values = yes;
  for (std::size_t slot = 0; slot < values.size(); ++slot) {
    if (yes[slot] == no[slot]) continue;
    values[slot].reset();
    if (!yes[slot] || !no[slot]) continue;
    const std::string name = code_.program.variables[*yes[slot]].name;
    const Type type = code_.program.variables[*yes[slot]].type;
    if (type.is_array()) {
      code_.refuse(at, "`" + name + "` is another array " + where, "choose between elements, in a `map`");
    }
    TermPtr either = make_select(at, make_variable(at, condition, {kBoolType, {}}), make_variable(at, *yes[slot], type),
                                 make_variable(at, *no[slot], type));
    values[slot] = code_.variables.keep(terms(std::move(either)), name, at).front();
  }
  return values;
}

void StatementChecker::check_node(const Statement&, const Repeat& node) {
  // A quotient is rounded down: `repeat (levels / 2 * 2)`.
  const double times = code_.types.whole_constant(*node.times, "the count of `repeat`");
  if (!(times >= 0 && times <= kMostRepeats)) {
    code_.refuse(node.times->at, "`repeat` runs 0 to 256 times");
  }
  if (times != std::floor(times) && !std::holds_alternative<Binary>(node.times->node)) {
    code_.refuse(node.times->at, "`repeat` runs " + number_text(times) + " times", "write a whole number");
  }
  Names& names = code_.variables.names();
  for (int i = 0; i < static_cast<int>(times); ++i) {
    if (++repeats_ > kMostSteps) {
      code_.refuse(node.times->at, "the program becomes too large here", "repeat less often");
    }
    const std::size_t depth = names.depth();
    names.enter();
    check_block(node.body);
    names.leave(depth);
  }
}

void StatementChecker::check_node(const Statement& at, const Return& node) {
  if (code_.place.calls == 0) {
    if (node.value != nullptr) {
      code_.refuse(at.at, "this function has no result to return", "assign to its output instead");
    }
    code_.refuse(at.at, "`return` is of no use here");
  }
  if (node.value == nullptr) code_.refuse(at.at, "`return` without a value", "write what the function returns");
  Terms values = code_.expressions.check_terms(*node.value);
  code_.place.control->give_back(code_, std::move(values), *node.value);
}

void StatementChecker::check_node(const Statement& at, const Evaluate& node) {
  const auto* call = std::get_if<Call>(&node.value->node);
  if (call != nullptr && call->callee.text == "extract") return code_.sections.extract(at, *call);
  code_.expressions.check_terms(*node.value);
  code_.refuse(at.at, "this statement changes nothing", "assign its value, or remove it");
}

}  // namespace casync::compll
