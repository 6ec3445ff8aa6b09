// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/checker.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/nearest.h"
#include "base/number.h"
#include "compll/lang/code_checker.h"
#include "compll/lang/prelude.h"
#include "compll/lang/routines.h"

namespace casync::compll {
namespace {

/// Checks everything outside of functions, and finds the functions that are encode, decode and so on.
class FileChecker {
 public:
  FileChecker(const Tree& tree, const KnownParameters& known, Known how, Diagnostics& diagnostics)
      : tree_(tree), known_(known), how_(how), diagnostics_(diagnostics), code_(program_, diagnostics) {}

  std::optional<Program> run() {
    try {
      check_properties();
      code_.names().enter();
      for (const Function& function : prelude().functions) declare(function, code_);
      code_.names().enter();
      check_shape();
      check_parameters();
      check_functions();
    } catch (const CheckMistake&) {
      return std::nullopt;
    }
    if (!diagnostics_.empty()) return std::nullopt;
    return std::move(program_);
  }

 private:
  // The codec's declarations.

  void check_properties() {
    static constexpr std::string_view kKnown[] = {"summary", "source",   "number",     "version",
                                                  "class",   "feedback", "overflow",   "shared_numbers",
                                                  "votes",   "shape",    "exact_merge"};
    program_.declares.name = tree_.codec.text;
    for (const Property& property : tree_.properties) {
      const std::string name = "`" + std::string(property.name.text) + "`";
      if (std::count_if(tree_.properties.begin(), tree_.properties.end(),
                        [&](const Property& other) { return other.name.text == property.name.text; }) > 1) {
        code_.refuse(property.name.at, name + " is declared twice");
      }
      if (std::find(std::begin(kKnown), std::end(kKnown), property.name.text) == std::end(kKnown)) {
        code_.refuse(property.name.at, "a codec does not declare " + name + hint(property.name.text, kKnown),
                     "it declares summary, source, number, version, class, feedback, overflow, shared_numbers, votes, "
                     "exact_merge and shape");
      }
      if (!property.second.text.empty() && property.name.text != "shape") {
        code_.refuse(property.second.at, name + " has two values");
      }
      take(property);
    }
  }

  void take(const Property& property) {
    Declarations& declares = program_.declares;
    const std::string_view name = property.name.text;
    if (name == "summary") declares.summary = property.value;
    if (name == "source") declares.source = property.value;
    if (name == "number") declares.number = small_number(property);
    if (name == "version") declares.version = small_number(property);
    if (name == "class") {
      declares.contractive = property.value == "contractive";
      declares.unbiased = property.value == "unbiased";
      if (!declares.contractive && !declares.unbiased) {
        code_.refuse(property.value_at, "there is no class `" + std::string(property.value) + "`",
                     "a codec is `contractive` (its error is smaller than its input) or `unbiased` (right on average)");
      }
    }
    if (name == "overflow") declares.overflow = magnitude(property);
    if (name == "feedback") {
      const bool offered = property.value == "off";
      (offered ? declares.feedback_offered : declares.feedback) = true;
      if (!offered && !property.value.empty()) {
        code_.refuse(property.value_at, "`feedback` has no value but `off`", "write `feedback;` or `feedback off;`");
      }
    }
    if (name == "shared_numbers") declares.shared_numbers = flag(property);
    if (name == "votes") declares.votes = flag(property);
    if (name == "exact_merge") declares.exact_merge = flag(property);
  }

  /// Returns true if a property is there.
  bool flag(const Property& property) {
    const std::string name(property.name.text);
    if (!property.value.empty()) {
      code_.refuse(property.value_at, "`" + name + "` has no value", "write `" + name + ";`");
    }
    return true;
  }

  const Property* property(std::string_view name) const {
    const auto found = std::find_if(tree_.properties.begin(), tree_.properties.end(),
                                    [&](const Property& each) { return each.name.text == name; });
    return found == tree_.properties.end() ? nullptr : &*found;
  }

  /// `shape rows columns;`, whose names every function sees.
  void check_shape() {
    const Property* const shape = property("shape");
    if (shape == nullptr) return;
    if (shape->second.text.empty()) {
      code_.refuse(shape->name.at, "`shape` names two things", "write `shape rows columns;`");
    }
    code_.declare_shape({shape->value, shape->value_at}, shape->second);
  }

  std::uint8_t small_number(const Property& property) {
    int value = 0;
    for (const char c : property.value) value = c >= '0' && c <= '9' && value < 1000 ? 10 * value + (c - '0') : 1000;
    if (property.value.empty() || value < 1 || value > 255) {
      code_.refuse(property.value_at, "`" + std::string(property.name.text) + "` is a number from 1 to 255");
    }
    return static_cast<std::uint8_t>(value);
  }

  double magnitude(const Property& property) {
    double value = 0;
    const char* const end = property.value.data() + property.value.size();
    const bool whole = std::from_chars(property.value.data(), end, value).ptr == end;
    if (!whole || !(value > 0) || !std::isfinite(value) || static_cast<double>(static_cast<float>(value)) != value) {
      code_.refuse(property.value_at, "`overflow` is a number above zero that a float holds",
                   "write the least magnitude that becomes infinite: `overflow 65520;`");
    }
    return value;
  }

  // Parameters: of `param` blocks, and those of encode that are no block.

  void check_parameters() {
    for (const ParameterList& block : tree_.parameters) {
      for (const Parameter& parameter : block.list) add(parameter);
    }
  }

  bool is_parameter(std::string_view name) const {
    return std::any_of(program_.parameters.begin(), program_.parameters.end(),
                       [&](const ProgramParameter& parameter) { return parameter.name == name; });
  }

  void add(const Parameter& parameter) {
    const DeclaredType type = code_.type_of(parameter.variable.type);
    const Word& word = parameter.variable.name;
    if (program_.parameters.size() == kParameterLimit) {
      code_.refuse(word.at, "more than " + std::to_string(kParameterLimit) + " parameters");
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
    ProgramParameter added;
    added.name = word.text;
    added.type = type.element;
    added.meaning = parameter.meaning;
    const auto number = [&](const ExpressionPtr& expression, double otherwise) {
      return expression == nullptr ? otherwise : code_.constant(*expression, "a parameter's range");
    };
    const bool is_float = type.element.is_float();
    added.least = number(parameter.least, is_float ? -3.4028234e38 : static_cast<double>(least_of(type.element)));
    added.most = number(parameter.most, is_float ? 3.4028234e38 : static_cast<double>(most_of(type.element)));
    added.step = number(parameter.step, 0);
    for (const ExpressionPtr& choice : parameter.choices) added.choices.push_back(number(choice, 0));
    if (!added.choices.empty()) {
      added.least = *std::min_element(added.choices.begin(), added.choices.end());
      added.most = *std::max_element(added.choices.begin(), added.choices.end());
    }
    added.required = parameter.initial == nullptr;
    added.fixed = added.required;
    check_range(added, parameter);
    const auto id = static_cast<ParameterId>(program_.parameters.size());
    code_.declare(word, Declared::ParameterName{id});
    added.initial = value_of(added, parameter, word);
    values_[word.text] = added.initial;
    program_.parameters.push_back(std::move(added));
    code_.know(values_);
  }

  /// The known value, else the default.
  double value_of(const ProgramParameter& added, const Parameter& parameter, const Word& word) {
    const auto known = known_.find(added.name);
    const bool fits = known != known_.end() && added.allows(known->second);
    if (known != known_.end() && (fits || how_ == Known::kExact)) {
      check_value(added, known->second, word.at);
      return known->second;
    }
    if (added.required && how_ == Known::kOffered) return example_of(added);
    if (added.required) {
      code_.refuse(word.at, "the parameter `" + added.name + "` has no value",
                   "give it one where the codec is named, `" + added.name + "=" + number_text(example_of(added)) +
                       "`, or a default where it is declared: `" + compll::text_of(added.type) + " " + added.name +
                       " = " + number_text(example_of(added)) + ";`");
    }
    const double initial = code_.constant(*parameter.initial, "a parameter's default");
    check_value(added, initial, word.at);
    return initial;
  }

  /// A value that a message may propose.
  static double example_of(const ProgramParameter& parameter) {
    for (const double value : {parameter.type.is_float() ? 0.5 : 2.0, parameter.least}) {
      if (parameter.allows(value)) return value;
    }
    return parameter.most;
  }

  void check_range(const ProgramParameter& added, const Parameter& parameter) {
    const Span at = parameter.variable.name.at;
    if (!(added.least <= added.most)) code_.refuse(at, "the least value of `" + added.name + "` is above the most");
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

  void check_value(const ProgramParameter& parameter, double value, Span at) {
    if (parameter.allows(value)) return;
    code_.refuse(at, "`" + parameter.name + "` cannot be " + number_text(value),
                 "its declaration allows " + parameter.allowed());
  }

  // Functions.

  void check_functions() {
    for (const State& state : tree_.states) code_.declare_state(state);
    for (const Statement& global : tree_.globals) check_global(global);
    const Routines routines = routines_of(tree_, code_);
    if (routines.synchronize != nullptr) {
      check_is_alone(routines);
      check_synchronize(*routines.synchronize);
      return check_known();
    }
    need(routines.encode, "void encode(float* gradient, uint8* compressed)");
    need(routines.decode, "void decode(uint8* compressed, float* gradient)");
    check_is_no_matrix();
    check_encode(*routines.encode, RoutineKind::kEncode, program_.encode);
    if (routines.merge != nullptr && diagnostics_.empty()) {
      check_encode(*routines.merge, RoutineKind::kMerge, program_.merge.emplace());
    }
    check_known();
    if (diagnostics_.empty()) check_decode(*routines.decode);
    if (routines.result != nullptr && diagnostics_.empty()) check_result(*routines.result);
  }

  /// A codec of rounds has no payload and keeps its error itself.
  void check_is_alone(const Routines& routines) {
    for (const Function* other : {routines.encode, routines.merge, routines.decode, routines.result}) {
      if (other == nullptr) continue;
      code_.refuse(other->at, "`" + std::string(other->name.text) + "` in a codec with `synchronize`",
                   "it takes the place of all other functions that the library calls");
    }
    if (const Property* const feedback = property("feedback")) {
      code_.refuse(feedback->name.at, "`feedback` in a codec with `synchronize`",
                   "a state keeps what a step did not send: `state float* error;`");
    }
    for (std::size_t i = 0; i < tree_.states.size(); ++i) {
      if (program_.states[i].initial == 0) continue;
      code_.refuse(tree_.states[i].initial->at, "a state of `synchronize` begins with zeros");
    }
  }

  /// Refuses `shape` and states of other sizes: the codec encodes a part of a gradient.
  void check_is_no_matrix() {
    if (const Property* const shape = property("shape")) {
      code_.refuse(shape->name.at, "`shape` in a codec with `encode`, which may be given a part of a gradient",
                   "`void synchronize(float* gradient, float* result)` is given all of it");
    }
    for (const State& state : tree_.states) {
      if (state.size == nullptr) continue;
      code_.refuse(
          state.at, "a state of a size of its own in a codec with `encode`",
          "here a state has a float for each element: `state float* " + std::string(state.variable.name.text) + ";`");
    }
  }

  void check_known() {
    for (const auto& [name, value] : known_) {
      if (how_ == Known::kExact && !is_parameter(name)) {
        code_.refuse(tree_.codec.at, "there is no parameter `" + name + "`");
      }
    }
  }

  void check_synchronize(const Function& function) {
    declare_rest(function);
    code_.forget_values();
    begin(function);
    Routine& routine = program_.synchronize.emplace();
    read_gradient(function, routine);
    write_gradient(function, RoutineKind::kSynchronize, routine);
  }

  void check_global(const Statement& statement) {
    const auto& node = std::get<Declare>(statement.node);
    if (node.value != nullptr) {
      code_.refuse(statement.at, "a variable outside of functions has no value yet", "assign it in `encode`");
    }
    for (const Variable& variable : node.variables) {
      code_.declare_variable(variable.name, code_.type_of(variable.type), {});
    }
  }

  void need(const Function* function, const std::string& form) {
    if (function != nullptr) return;
    const std::size_t end = diagnostics_.source().text().size();
    code_.refuse({end, end}, "there is no `" + form + "`", "write it: those parameters are how it is known");
  }

  void check_encode(const Function& function, RoutineKind kind, Routine& routine) {
    if (kind == RoutineKind::kEncode) declare_rest(function);
    code_.forget_values();
    begin(function);
    read_gradient(function, routine);
    code_.declare(function.parameters[1].name, Declared::Bytes{});
    code_.check_routine(function, function.parameters[1].name.text, kind, routine);
    code_.names().leave(2);
  }

  void check_decode(const Function& function) {
    code_.forget_values();
    begin(function);
    code_.declare(function.parameters[0].name, Declared::Bytes{});
    know_extracted(function);
    write_gradient(function, RoutineKind::kDecode, program_.decode);
  }

  void check_result(const Function& function) {
    code_.forget_values();
    begin(function);
    Routine& routine = program_.result.emplace();
    read_gradient(function, routine);
    write_gradient(function, RoutineKind::kResult, routine);
  }

  /// The first parameter is the routine's input.
  void read_gradient(const Function& function, Routine& routine) {
    const Word& gradient = function.parameters[0].name;
    routine.gradient = code_.new_variable(gradient.text, {kFloatType, Extent{}}, gradient.at);
    code_.declare_variable(gradient, {kFloatType, true}, routine.gradient);
  }

  /// The second one is its output.
  void write_gradient(const Function& function, RoutineKind kind, Routine& routine) {
    const Word& gradient = function.parameters[1].name;
    code_.declare_variable(gradient, {kFloatType, true}, {});
    code_.check_routine(function, gradient.text, kind, routine);
    code_.names().leave(2);
  }

  /// `encode(float* gradient, uint8* compressed, uint8 bits)` or with a block's name as type: parameters, too.
  void declare_rest(const Function& function) {
    for (std::size_t i = 2; i < function.parameters.size(); ++i) {
      const Variable& variable = function.parameters[i];
      if (block_of(variable) != nullptr || is_parameter(variable.name.text)) continue;
      Parameter parameter;
      parameter.variable.type = {variable.type.name, nullptr, variable.type.array, variable.type.at};
      parameter.variable.name = variable.name;
      add(parameter);
    }
  }

  const ParameterList* block_of(const Variable& variable) const {
    for (const ParameterList& block : tree_.parameters) {
      if (!block.name.text.empty() && block.name.text == variable.type.name.text) return &block;
    }
    return nullptr;
  }

  void begin(const Function& function) {
    code_.names().enter();
    for (std::size_t i = 2; i < function.parameters.size(); ++i) {
      const Word& name = function.parameters[i].name;
      if (const ParameterList* block = block_of(function.parameters[i])) {
        code_.declare(name, Declared::ParameterBlock{block});
      } else if (!is_parameter(name.text)) {
        code_.refuse(name.at,
                     "`" + std::string(function.name.text) + "` takes `" + std::string(name.text) +
                         "`, which is no parameter of the codec",
                     "declare it in a `param` block, or as a parameter of `encode`");
      }
    }
  }

  /// A section that is a parameter, such as a width, is known in decode before it is extracted: types are made of it.
  void know_extracted(const Function& function) {
    for (const StatementPtr& statement : function.body) {
      const auto* evaluate = std::get_if<Evaluate>(&statement->node);
      const auto* call = evaluate == nullptr ? nullptr : std::get_if<Call>(&evaluate->value->node);
      if (call == nullptr || call->callee.text != "extract") continue;
      for (std::size_t i = 0; i < program_.encode.sections.size() && i + 1 < call->arguments.size(); ++i) {
        const Term& section = *program_.encode.sections[i];
        const auto* name = std::get_if<Name>(&call->arguments[i + 1]->node);
        if (section.op != Op::kParameter || name == nullptr) continue;
        values_[name->text] = values_.find(program_.parameters[section.parameter].name)->second;
      }
    }
    code_.know(values_);
  }

  const Tree& tree_;
  const KnownParameters& known_;
  const Known how_;
  Diagnostics& diagnostics_;
  Program program_;
  std::map<std::string_view, double> values_;
  CodeChecker code_;
};

}  // namespace

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

std::optional<Program> check(const Tree& tree, const KnownParameters& known, Diagnostics& diagnostics, Known how) {
  return FileChecker(tree, known, how, diagnostics).run();
}

}  // namespace casync::compll
