// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/nearest.h"
#include "compll/lang/code_checker.h"
#include "compll/lang/control.h"
#include "compll/lang/terms.h"

namespace casync::compll {
namespace {

// Limits on a program with calls and repeats written out: they keep a small file from becoming a
// large program.
constexpr std::size_t kMostSteps = 20000;
constexpr double kMostRepeats = 256;

}  // namespace

void CodeChecker::refuse(Span at, std::string message, std::string hint) {
  diagnostics_.add(at, std::move(message), std::move(hint));
  throw CheckMistake();
}

void CodeChecker::declare(const Word& word, decltype(Declared::what) what) {
  if (names_.declared_here(word.text) != nullptr) {
    refuse(word.at, "`" + std::string(word.text) + "` is declared twice", "give the second one another name");
  }
  names_.add({word.text, word.at, what});
}

void CodeChecker::declare_variable(const Word& word, DeclaredType type, std::optional<VariableId> value) {
  declare(word, Declared::Variable{type, values_.size(), level_});
  spoilt_.erase(values_.size());
  values_.push_back(value);
}

VariableId CodeChecker::new_variable(std::string_view name, Type type, Span at) {
  if (program_.variables.size() >= kMostSteps) {
    refuse(at, "the program becomes too large here", "call fewer functions inside of each other, repeat less often");
  }
  program_.variables.push_back({std::string(name), type, at});
  return static_cast<VariableId>(program_.variables.size() - 1);
}

/// Gives values to variables of their own, all in one step, because a term of several results is computed once.
std::vector<VariableId> CodeChecker::keep(Terms values, std::string_view name, Span at) {
  std::vector<VariableId> kept;
  for (TermPtr& value : values) {
    Step step;
    for (const Type& type : value->types) step.variables.push_back(new_variable(name, type, at));
    kept.insert(kept.end(), step.variables.begin(), step.variables.end());
    step.value = std::move(value);
    if (level_ == 0 && step.variables.size() == 1 && !step.value->type().is_array())
      elements_[step.variables.front()] = step.value.get();
    steps_->push_back(std::move(step));
  }
  return kept;
}

void CodeChecker::check_block(const Block& block) {
  for (const StatementPtr& statement : block) check_statement(*statement);
}

void CodeChecker::check_statement(const Statement& statement) {
  if (control_ != nullptr && control_->always_returned()) {
    refuse(statement.at, "this comes after `return` and never runs", "remove it");
  }
  try {
    std::visit([&](const auto& node) { check_node(statement, node); }, statement.node);
  } catch (const CheckMistake&) {
    // Inside of a function the result would be missing, and every call would report it again.
    if (calls_ != 0 || diagnostics_.full()) throw;
    forgive(statement);
  }
}

/// Takes the variables of a statement that was refused for such as have a value nobody knows: what is made of them is
/// no mistake of its own.
void CodeChecker::forgive(const Statement& statement) {
  const auto spoil = [&](std::string_view name) {
    const Declared* declared = names_.find(name);
    const auto* variable = declared == nullptr ? nullptr : std::get_if<Declared::Variable>(&declared->what);
    if (variable != nullptr) spoilt_.insert(variable->slot);
  };
  if (const auto* assign = std::get_if<Assign>(&statement.node)) return spoil(assign->name.text);
  const auto* declare = std::get_if<Declare>(&statement.node);
  if (declare == nullptr || declare->value == nullptr) return;
  for (const Variable& variable : declare->variables) {
    if (names_.declared_here(variable.name.text) == nullptr) declare_variable(variable.name, {kFloatType, false}, {});
    spoil(variable.name.text);
  }
}

void CodeChecker::check_node(const Statement& at, const Declare& node) {
  const Word& first = node.variables.front().name;
  if (node.value != nullptr && std::holds_alternative<Lambda>(node.value->node)) {
    if (node.variables.front().type.name.text != "lambda_func") {
      refuse(node.value->at, "a function in a variable", "declare it with `lambda_func`");
    }
    declare(first, Declared::Callable{nullptr, &std::get<Lambda>(node.value->node), names_.depth()});
    return;
  }
  if (node.value == nullptr) {
    for (const Variable& variable : node.variables) declare_variable(variable.name, type_of(variable.type), {});
    return;
  }
  Terms values = check_terms(*node.value);
  std::vector<Type> given;
  for (const TermPtr& value : values) given.insert(given.end(), value->types.begin(), value->types.end());
  if (given.size() != node.variables.size()) {
    refuse(at.at, std::to_string(node.variables.size()) + " variables for " + std::to_string(given.size()) + " values");
  }
  if (given.size() == 1) {
    const Variable& variable = node.variables.front();
    declare_variable(variable.name, type_of(variable.type), {});
    store(*names_.declared_here(variable.name.text), std::move(values.front()), node.value->at);
    return;
  }
  const std::vector<VariableId> kept = keep(std::move(values), first.text, node.value->at);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const Variable& variable = node.variables[i];
    declare_variable(variable.name, type_of(variable.type), {});
    store(*names_.declared_here(variable.name.text), make_variable(variable.name.at, kept[i], given[i]),
          variable.name.at);
  }
}

/// Assigns, with the conversions of C: elements to elements, arrays to arrays whose elements have the same type.
void CodeChecker::store(const Declared& declared, TermPtr value, Span at) {
  const auto& variable = std::get<Declared::Variable>(declared.what);
  const std::string name = "`" + std::string(declared.name) + "`";
  if (variable.level != level_) {
    refuse(at, "a function that is applied to elements changes " + name + " outside of it",
           "elements are worked on in no order; return the value, and let `map` or `reduce` collect it");
  }
  values_[variable.slot] = keep(terms(fit(std::move(value), variable.type, name, at)), declared.name, at).front();
}

/// Converts the value to its declared type.
TermPtr CodeChecker::fit(TermPtr value, DeclaredType type, const std::string& name, Span at) {
  const Type given = value->type();
  if (given.element == kVoidType) refuse(at, "this has no value");
  if (given.is_array() != type.array) {
    refuse(at,
           name + " is " + (type.array ? "an array" : "one element") + ", this is " +
               (given.is_array() ? "an array" : "one element"),
           given.is_array() ? "an array is declared with `*`, and `reduce` makes one element of it" : "");
  }
  if (!given.is_array()) return convert(std::move(value), type.element);
  if (given.element != type.element) {
    refuse(at, name + " has elements of type " + text_of(type.element) + ", this has " + text_of(given.element),
           "convert them in a `map`, or return that type from its function");
  }
  return value;
}

void CodeChecker::check_node(const Statement& at, const Assign& node) {
  const Declared* declared = names_.find(node.name.text);
  const std::string name = "`" + std::string(node.name.text) + "`";
  if (declared == nullptr) {
    refuse(node.name.at, "there is no variable " + name + hint(node.name.text, names_.all()),
           "declare it: `float " + std::string(node.name.text) + " = ...;`");
  }
  if (node.name.text == output_ && level_ == 0 && calls_ == 0) return assign_output(at, node.name, *node.value);
  const auto* variable = std::get_if<Declared::Variable>(&declared->what);
  if (variable == nullptr) refuse(node.name.at, name + " is no variable, and cannot be assigned to");
  if (kind_ == RoutineKind::kDecode && std::count(states_.begin(), states_.end(), variable->slot) != 0) {
    refuse(node.name.at, name + " is a state, and `decode` keeps none",
           "what is decoded is nobody's own: a state changes in `encode`, `merge` or `result`");
  }
  if (node.sign == "=") return store(*declared, check_one(*node.value), node.value->at);
  TermPtr before = check_node(Expression{node.name.at, Name{node.name.text}}, Name{node.name.text});
  TermPtr value = check_one(*node.value);
  if (before->type().is_array() || value->type().is_array()) {
    refuse(at.at, "`" + std::string(node.sign) + "` works on one element", "use `map` for arrays");
  }
  const std::string_view sign = node.sign.substr(0, node.sign.size() - 1);
  store(*declared, operation(at.at, sign, at.at, std::move(before), std::move(value)), node.value->at);
}

void CodeChecker::assign_output(const Statement& at, const Word& name, const Expression& value) {
  if (control_ != nullptr && control_->conditions != 0) {
    refuse(at.at, "`" + std::string(name.text) + "` is assigned in a branch", "assign it once, behind the branches");
  }
  const bool again = makes_gradient() ? routine_->result != nullptr : !routine_->sections.empty();
  if (again) refuse(at.at, "`" + std::string(name.text) + "` is assigned twice");
  makes_gradient() ? assign_gradient(name, value) : assign_sections(name, value);
}

void CodeChecker::assign_gradient(const Word& name, const Expression& value) {
  TermPtr result = check_array(value, "`" + std::string(name.text) + "`");
  if (result->type().element != kFloatType) {
    refuse(value.at,
           "`" + std::string(name.text) + "` has elements of type float, this has " + text_of(result->type().element));
  }
  if (result->type().extent->kind != Extent::Kind::kElements) {
    refuse(value.at, "`" + std::string(name.text) + "` has n elements, this has " + text_of(*result->type().extent));
  }
  routine_->result = std::move(result);
}

void CodeChecker::check_node(const Statement& at, const If& node) {
  const VariableId condition = keep(terms(check_condition(*node.condition, "`if`")), "if", at.at).front();
  Control branches = control_ == nullptr ? Control() : *control_;
  ++branches.conditions;
  Control* const around = control_;
  const auto before = values_;
  const auto run = [&](const Block& block, Control& control) {
    struct Inside {
      explicit Inside(int& branches) : count(branches) { ++count; }
      ~Inside() { --count; }
      int& count;
    } const inside(branches_);
    control.types = branches.types;
    control.conditions = branches.conditions;
    control_ = &control;
    const std::size_t depth = names_.depth();
    names_.enter();
    check_block(block);
    names_.leave(depth);
    control_ = around;
    auto after = values_;
    after.resize(before.size());
    values_ = before;
    return after;
  };
  Control yes_control, no_control;
  const auto yes = run(node.yes, yes_control), no = run(node.no, no_control);
  // Assignments of a branch that returned are seen by nobody.
  choose(condition, yes_control.always_returned() ? no : yes, no_control.always_returned() ? yes : no, at.at);
  if (around == nullptr) return;
  around->join(*this, condition, yes_control, no_control, at.at);
}

/// values_ = condition ? yes : no, slot by slot. A value that only one of them has is unknown after the branches.
void CodeChecker::choose(VariableId condition, const std::vector<std::optional<VariableId>>& yes,
                         const std::vector<std::optional<VariableId>>& no, Span at) {
  for (std::size_t slot = 0; slot < values_.size(); ++slot) {
    if (yes[slot] == no[slot] || !yes[slot] || !no[slot]) {
      values_[slot] = yes[slot] == no[slot] ? yes[slot] : std::nullopt;
      continue;
    }
    const ProgramVariable& variable = program_.variables[*yes[slot]];
    if (variable.type.is_array()) {
      refuse(at, "`" + variable.name + "` is another array in each branch", "choose between elements, in a `map`");
    }
    TermPtr chosen =
        make_select(at, make_variable(at, condition, {kBoolType, {}}), make_variable(at, *yes[slot], variable.type),
                    make_variable(at, *no[slot], variable.type));
    const std::string name = variable.name;
    values_[slot] = keep(terms(std::move(chosen)), name, at).front();
  }
}

void CodeChecker::check_node(const Statement&, const Repeat& node) {
  const double times = constant(*node.times, "the count of `repeat`");
  if (!(times >= 0 && times <= kMostRepeats)) {
    refuse(node.times->at, "`repeat` runs 0 to 256 times");
  }
  for (int i = 0; i < static_cast<int>(times); ++i) {
    if (++repeats_ > kMostSteps) refuse(node.times->at, "the program becomes too large here", "repeat less often");
    const std::size_t depth = names_.depth();
    names_.enter();
    check_block(node.body);
    names_.leave(depth);
  }
}

void CodeChecker::check_node(const Statement& at, const Return& node) {
  if (calls_ == 0) {
    if (node.value != nullptr) refuse(at.at, "this function has no result to return", "assign to its output instead");
    refuse(at.at, "`return` is of no use here");
  }
  if (node.value == nullptr) refuse(at.at, "`return` without a value", "write what the function returns");
  Terms values = check_terms(*node.value);
  control_->give_back(*this, std::move(values), *node.value);
}

void CodeChecker::check_node(const Statement& at, const Evaluate& node) {
  const auto* call = std::get_if<Call>(&node.value->node);
  if (call != nullptr && call->callee.text == "extract") return extract(at, *call);
  check_terms(*node.value);
  refuse(at.at, "this statement changes nothing", "assign its value, or remove it");
}

void CodeChecker::check_routine(const Function& function, std::string_view output, RoutineKind kind, Routine& routine) {
  routine_ = &routine;
  output_ = output;
  kind_ = kind;
  steps_ = &routine.steps;
  if (kind != RoutineKind::kDecode) begin_states();
  check_block(function.body);
  const bool assigned = makes_gradient() ? routine.result != nullptr : !routine.sections.empty();
  if (!assigned && diagnostics_.empty()) {
    refuse(function.at, "`" + std::string(function.name.text) + "` never assigns `" + std::string(output) + "`",
           makes_gradient() ? "write `gradient = map(...);`" : "write `compressed = concat(...);`");
  }
  if (kind == RoutineKind::kDecode && diagnostics_.empty() && routine.extracted.empty()) {
    refuse(function.at, "`" + std::string(function.name.text) + "` extracts nothing",
           "write `extract(compressed, ...);`");
  }
  if (kind == RoutineKind::kSynchronize && diagnostics_.empty() && program_.rounds == 0) {
    refuse(function.at, "`" + std::string(function.name.text) + "` exchanges nothing",
           "write `float* sum = exchange(x);` for what is to be added up over the ranks");
  }
  if (kind != RoutineKind::kDecode && diagnostics_.empty()) end_states(function);
}

}  // namespace casync::compll
