// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/check/checker.h"

#include <string>
#include <utility>

#include "compll/lang/check/code_checker.h"
#include "compll/lang/check/parameter_checker.h"
#include "compll/lang/check/prelude.h"
#include "compll/lang/check/property_checker.h"
#include "compll/lang/check/routines.h"

namespace casync::compll {
namespace {

/// Checks a file: its declarations, its parameters, and the functions that the library calls.
class FileChecker {
 public:
  FileChecker(const Tree& tree, const KnownParameters& known, Known how, Diagnostics& diagnostics)
      : tree_(tree),
        diagnostics_(diagnostics),
        code_(program_, diagnostics),
        properties_(tree, code_),
        parameters_(tree, known, how, code_) {}

  std::optional<Program> run() {
    try {
      properties_.check();
      code_.variables.names().enter();
      for (const Function& function : prelude().functions) declare(function, code_);
      code_.variables.names().enter();
      properties_.declare_shape();
      parameters_.declare_blocks();
      check_functions();
    } catch (const CheckMistake&) {
      return std::nullopt;
    }
    if (!diagnostics_.empty()) return std::nullopt;
    return std::move(program_);
  }

 private:
  void check_functions() {
    for (const State& state : tree_.states) code_.states.declare_state(state);
    for (const Statement& global : tree_.globals) check_global(global);
    const Routines routines = routines_of(tree_, code_);
    if (routines.synchronize != nullptr) {
      check_is_alone(routines);
      check_synchronize(*routines.synchronize);
      return parameters_.need_all_known();
    }
    need(routines.encode, "void encode(float* gradient, uint8* compressed)");
    need(routines.decode, "void decode(uint8* compressed, float* gradient)");
    check_is_no_matrix();
    check_encode(*routines.encode, RoutineKind::kEncode, program_.encode);
    if (routines.merge != nullptr && diagnostics_.empty()) {
      check_encode(*routines.merge, RoutineKind::kMerge, program_.merge.emplace());
    }
    parameters_.need_all_known();
    if (diagnostics_.empty()) check_decode(*routines.decode);
    if (routines.result != nullptr && diagnostics_.empty()) check_result(*routines.result);
  }

  void check_global(const Statement& statement) {
    const auto& node = std::get<Declare>(statement.node);
    if (node.value != nullptr) {
      code_.refuse(statement.at, "a variable outside of functions has no value yet", "assign it in `encode`");
    }
    for (const Variable& variable : node.variables) {
      code_.variables.declare_variable(variable.name, code_.types.type_of(variable.type), {});
    }
  }

  void need(const Function* function, const std::string& form) {
    if (function != nullptr) return;
    const std::size_t end = diagnostics_.source().text().size();
    code_.refuse({end, end}, "there is no `" + form + "`", "write it: those parameters are how it is known");
  }

  /// A codec of rounds has no payload and keeps its error itself.
  void check_is_alone(const Routines& routines) {
    for (const Function* other : {routines.encode, routines.merge, routines.decode, routines.result}) {
      if (other == nullptr) continue;
      code_.refuse(other->at, "`" + std::string(other->name.text) + "` in a codec with `synchronize`",
                   "it takes the place of all other functions that the library calls");
    }
    if (const Property* const feedback = properties_.find("feedback")) {
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
    if (const Property* const shape = properties_.find("shape")) {
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

  void check_encode(const Function& function, RoutineKind kind, Routine& routine) {
    if (kind == RoutineKind::kEncode) parameters_.declare_rest(function);
    begin(function);
    read_gradient(function, routine);
    const Word& compressed = function.parameters[1].name;
    code_.variables.declare(compressed, Declared::Bytes{});
    code_.routines.check_routine(function, compressed.text, kind, routine);
    code_.variables.names().leave(2);
  }

  void check_decode(const Function& function) {
    begin(function);
    code_.variables.declare(function.parameters[0].name, Declared::Bytes{});
    parameters_.know_extracted(function);
    write_gradient(function, RoutineKind::kDecode, program_.decode);
    parameters_.forget_extracted();
  }

  void check_result(const Function& function) {
    begin(function);
    Routine& routine = program_.result.emplace();
    read_gradient(function, routine);
    write_gradient(function, RoutineKind::kResult, routine);
  }

  void check_synchronize(const Function& function) {
    parameters_.declare_rest(function);
    begin(function);
    Routine& routine = program_.synchronize.emplace();
    read_gradient(function, routine);
    write_gradient(function, RoutineKind::kSynchronize, routine);
  }

  void begin(const Function& function) {
    code_.variables.forget_values();
    code_.selections.begin_routine();
    parameters_.begin(function);
  }

  /// The first parameter is the routine's input.
  void read_gradient(const Function& function, Routine& routine) {
    const Word& gradient = function.parameters[0].name;
    routine.gradient = code_.variables.new_variable(gradient.text, {kFloatType, Extent{}}, gradient.at);
    code_.variables.declare_variable(gradient, {kFloatType, true}, routine.gradient);
  }

  /// The second one is its output.
  void write_gradient(const Function& function, RoutineKind kind, Routine& routine) {
    const Word& gradient = function.parameters[1].name;
    code_.variables.declare_variable(gradient, {kFloatType, true}, {});
    code_.routines.check_routine(function, gradient.text, kind, routine);
    code_.variables.names().leave(2);
  }

  const Tree& tree_;
  Diagnostics& diagnostics_;
  Program program_;
  CodeChecker code_;
  PropertyChecker properties_;
  ParameterChecker parameters_;
};

}  // namespace

std::optional<Program> check(const Tree& tree, const KnownParameters& known, Diagnostics& diagnostics, Known how) {
  return FileChecker(tree, known, how, diagnostics).run();
}

}  // namespace casync::compll
