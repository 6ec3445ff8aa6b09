// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/check/parameter_checker.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/number.h"

namespace casync::compll {
namespace {

/// A value that a message may propose.
double example_of(const ProgramParameter& parameter) {
  for (const double value : {parameter.type.is_float() ? 0.5 : 2.0, parameter.least}) {
    if (parameter.allows(value)) return value;
  }
  return parameter.most;
}

}  // namespace

void ParameterChecker::declare_blocks() {
  for (const ParameterList& block : tree_.parameters) {
    for (const Parameter& parameter : block.list) add(parameter, code_.types.type_of(parameter.variable.type));
  }
}

void ParameterChecker::declare_rest(const Function& function) {
  for (std::size_t i = 2; i < function.parameters.size(); ++i) {
    const Variable& variable = function.parameters[i];
    if (block_of(variable) != nullptr || is_parameter(variable.name.text)) continue;
    Parameter parameter;
    parameter.variable.type = {variable.type.name, nullptr, variable.type.array, variable.type.at};
    parameter.variable.name = variable.name;
    add(parameter, code_.types.type_of(variable.type));
  }
}

void ParameterChecker::begin(const Function& function) {
  code_.variables.names().enter();
  for (std::size_t i = 2; i < function.parameters.size(); ++i) {
    const Word& name = function.parameters[i].name;
    if (const ParameterList* block = block_of(function.parameters[i])) {
      code_.variables.declare(name, Declared::ParameterBlock{block});
    } else if (!is_parameter(name.text)) {
      code_.refuse(name.at,
                   "`" + std::string(function.name.text) + "` takes `" + std::string(name.text) +
                       "`, which is no parameter of the codec",
                   "declare it in a `param` block, or as a parameter of `encode`");
    }
  }
}

void ParameterChecker::know_extracted(const Function& decode) {
  std::map<std::string_view, ParameterId> sent = parameters_extracted(decode);
  std::map<std::size_t, ParameterId> extracted;
  const auto note = [&](const Statement& statement) {
    const auto* declare = std::get_if<Declare>(&statement.node);
    if (declare == nullptr) return;
    for (const Variable& variable : declare->variables) {
      const auto found = sent.find(variable.name.text);
      if (found == sent.end()) continue;
      extracted[variable.name.at.begin] = found->second;
      sent.erase(found);
    }
  };
  for (const StatementPtr& statement : decode.body) note(*statement);
  for (const Statement& global : tree_.globals) note(global);  // unless a variable of decode hides it
  code_.types.know_extracted(std::move(extracted));
}

/// The parameters that decode extracts, by the names of the variables that get them.
std::map<std::string_view, ParameterId> ParameterChecker::parameters_extracted(const Function& decode) const {
  const Program& program = code_.program;
  std::map<std::string_view, ParameterId> sent;
  for (const StatementPtr& statement : decode.body) {
    const auto* evaluate = std::get_if<Evaluate>(&statement->node);
    const auto* call = evaluate == nullptr ? nullptr : std::get_if<Call>(&evaluate->value->node);
    if (call == nullptr || call->callee.text != "extract") continue;
    for (std::size_t i = 0; i < program.encode.sections.size() && i + 1 < call->arguments.size(); ++i) {
      const std::optional<ParameterId> parameter = parameter_sent(*program.encode.sections[i]);
      const auto* name = std::get_if<Name>(&call->arguments[i + 1]->node);
      if (parameter && name != nullptr) sent[name->text] = *parameter;
    }
  }
  return sent;
}

void ParameterChecker::forget_extracted() { code_.types.know_extracted({}); }

/// The parameter whose value a term is, also by way of variables and of integers that hold it.
std::optional<ParameterId> ParameterChecker::parameter_sent(const Term& term) const {
  if (term.op == Op::kParameter) return term.parameter;
  if (term.op == Op::kVariable) {
    const auto made = code_.variables.elements().find(term.variable);
    return made == code_.variables.elements().end() ? std::nullopt : parameter_sent(*made->second);
  }
  const ScalarType type = term.type().element;
  if (term.op != Op::kConvert || !type.is_integer()) return {};
  const std::optional<ParameterId> parameter = parameter_sent(*term.arguments.front());
  if (!parameter) return {};
  const double value = code_.program.parameters[*parameter].initial;
  const auto least = static_cast<double>(least_of(type)), most = static_cast<double>(most_of(type));
  return value >= least && value <= most && value == std::floor(value) ? parameter : std::nullopt;
}

void ParameterChecker::need_all_known() const {
  for (const auto& [name, value] : known_) {
    if (how_ == Known::kExact && !is_parameter(name)) {
      code_.refuse(tree_.codec.at, "there is no parameter `" + name + "`");
    }
  }
}

bool ParameterChecker::is_parameter(std::string_view name) const {
  const std::vector<ProgramParameter>& all = code_.program.parameters;
  return std::any_of(all.begin(), all.end(), [&](const ProgramParameter& parameter) { return parameter.name == name; });
}

const ParameterList* ParameterChecker::block_of(const Variable& variable) const {
  for (const ParameterList& block : tree_.parameters) {
    if (!block.name.text.empty() && block.name.text == variable.type.name.text) return &block;
  }
  return nullptr;
}

void ParameterChecker::need_number(const Parameter& parameter, const DeclaredType& type) const {
  const Word& word = parameter.variable.name;
  if (code_.program.parameters.size() == kParameterLimit) {
    code_.refuse(word.at, "more than " + std::to_string(kParameterLimit) + " parameters");
  }
  const Declarations& declares = code_.program.declares;
  if (word.text == "feedback" && (declares.feedback || declares.feedback_offered)) {
    code_.refuse(word.at, "`feedback` is a parameter that the codec block declares", "give this one another name");
  }
  if (parameter.choices.size() > kChoiceLimit) {
    code_.refuse(parameter.choices[kChoiceLimit]->at,
                 "more than " + std::to_string(kChoiceLimit) + " values of a parameter",
                 "write a range: `in 1..32 step 2`");
  }
  if (type.array || !type.element.is_number()) {
    code_.refuse(parameter.variable.type.at, "a parameter of type " + text_of(type.element) + (type.array ? "*" : ""),
                 "parameters are single numbers");
  }
}

void ParameterChecker::add(const Parameter& parameter, const DeclaredType& type) {
  const Word& word = parameter.variable.name;
  need_number(parameter, type);
  ProgramParameter added;
  added.name = word.text;
  added.type = type.element;
  added.meaning = parameter.meaning;
  set_range(added, parameter);
  added.required = parameter.initial == nullptr;
  added.fixed = added.required;
  check_range(added, parameter);
  added.initial = value_of(added, parameter);
  std::vector<ProgramParameter>& all = code_.program.parameters;
  code_.variables.declare(word, Declared::ParameterName{static_cast<ParameterId>(all.size())});
  all.push_back(std::move(added));
}

void ParameterChecker::set_range(ProgramParameter& added, const Parameter& parameter) {
  const auto number = [&](const ExpressionPtr& expression, double otherwise) {
    return expression == nullptr ? otherwise : code_.types.constant(*expression, "a parameter's range");
  };
  const bool is_float = added.type.is_float();
  added.least = number(parameter.least, is_float ? -3.4028234e38 : static_cast<double>(least_of(added.type)));
  added.most = number(parameter.most, is_float ? 3.4028234e38 : static_cast<double>(most_of(added.type)));
  added.step = number(parameter.step, 0);
  for (const ExpressionPtr& choice : parameter.choices) added.choices.push_back(number(choice, 0));
  if (added.choices.empty()) return;
  added.least = *std::min_element(added.choices.begin(), added.choices.end());
  added.most = *std::max_element(added.choices.begin(), added.choices.end());
}

/// The known value, else the default.
double ParameterChecker::value_of(const ProgramParameter& added, const Parameter& parameter) const {
  const Span at = parameter.variable.name.at;
  const auto known = known_.find(added.name);
  const bool fits = known != known_.end() && added.allows(known->second);
  if (known != known_.end() && (fits || how_ == Known::kExact)) {
    check_value(added, known->second, at);
    return known->second;
  }
  if (added.required && how_ == Known::kOffered) return example_of(added);
  if (added.required) {
    const std::string example = number_text(example_of(added));
    code_.refuse(at, "the parameter `" + added.name + "` has no value",
                 "give it one where the codec is named, `" + added.name + "=" + example +
                     "`, or a default where it is declared: `" + text_of(added.type) + " " + added.name + " = " +
                     example + ";`");
  }
  const double initial = code_.types.constant(*parameter.initial, "a parameter's default");
  check_value(added, initial, at);
  return initial;
}

void ParameterChecker::check_range(const ProgramParameter& added, const Parameter& parameter) const {
  const Span at = parameter.variable.name.at;
  if (!(added.least <= added.most)) code_.refuse(at, "the least value of `" + added.name + "` is above the most");
  need_held(added, added.least, parameter.least);
  need_held(added, added.most, parameter.most);
  for (std::size_t i = 0; i < added.choices.size(); ++i) need_held(added, added.choices[i], parameter.choices[i]);
  if (parameter.step != nullptr && !(added.step > 0)) {
    code_.refuse(parameter.step->at, "a step of " + number_text(added.step), "a step is above zero");
  }
  if (!added.type.is_float() && added.step != std::floor(added.step)) {
    code_.refuse(parameter.step->at, "a step of " + number_text(added.step) + " between whole numbers");
  }
  for (std::size_t i = 0; i < added.choices.size(); ++i) {
    check_value(added, added.choices[i], parameter.choices[i]->at);
  }
}

/// Refuses a value that a declaration allows, as `written`, and that the type has no room for.
void ParameterChecker::need_held(const ProgramParameter& parameter, double value, const ExpressionPtr& written) const {
  if (written == nullptr) return;
  const std::string hint = "narrow what its declaration allows, or declare it as a wider type";
  if (parameter.type == kFloatType && !std::isfinite(static_cast<float>(value))) {
    code_.refuse(written->at, "`" + parameter.name + "` may be " + number_text(value) + ", which a float does not hold",
                 hint);
  }
  if (parameter.type.is_float()) return;
  const std::int64_t least = least_of(parameter.type), most = most_of(parameter.type);
  if (value >= static_cast<double>(least) && value <= static_cast<double>(most)) return;
  code_.refuse(written->at,
               "`" + parameter.name + "` may be " + number_text(value) + ", and " + text_of(parameter.type) +
                   " goes from " + std::to_string(least) + " to " + std::to_string(most),
               hint);
}

void ParameterChecker::check_value(const ProgramParameter& parameter, double value, Span at) const {
  if (parameter.allows(value)) return;
  code_.refuse(at, "`" + parameter.name + "` cannot be " + number_text(value),
               "its declaration allows " + parameter.allowed());
}

bool ProgramParameter::allows(double value) const {
  const bool chosen = choices.empty() || std::find(choices.begin(), choices.end(), value) != choices.end();
  const bool whole = type.is_float() || value == std::floor(value);
  return value >= least && value <= most && chosen && whole && is_on_step(value, least, step);
}

std::string ProgramParameter::allowed() const {
  std::string text = type.is_float() ? "a number" : "a whole number";
  for (const double choice : choices) text += (choice == choices.front() ? ": " : " or ") + number_text(choice);
  if (!choices.empty()) return text;
  text += " from " + number_text(least) + " to " + number_text(most);
  return step == 0 || (step == 1 && !type.is_float()) ? text : text + " in steps of " + number_text(step);
}

}  // namespace casync::compll
