// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/check/state_checker.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "compll/lang/check/code_checker.h"

namespace casync::compll {

void StateChecker::declare_state(const State& state) {
  const Word& name = state.variable.name;
  const DeclaredType type = code_.types.type_of(state.variable.type);
  const bool sized = state.size != nullptr;
  std::vector<ProgramState>& states = code_.program.states;
  if (type.array == sized || type.element != kFloatType) {
    code_.refuse(state.variable.type.at,
                 "a state of type " + text_of(Type{type.element, type.array ? std::optional(Extent{}) : std::nullopt}),
                 "a state has a float for each element of the gradient, `state float* velocity;`, or in a codec with "
                 "`synchronize` a size of its own, `state float right[rank * columns];`");
  }
  if (states.size() == kStateLimit) {
    code_.refuse(state.at, "more than " + std::to_string(kStateLimit) + " states");
  }
  const double initial =
      state.initial == nullptr ? 0 : code_.types.constant(*state.initial, "what a state begins with");
  if (!std::isfinite(static_cast<float>(initial))) {
    code_.refuse(state.initial->at, "a state that begins with a number beyond the range of float");
  }
  code_.place.steps = &of_file_;
  const Extent extent = sized ? code_.sizes.size_of(*state.size, "a state") : Extent{};
  slots_.push_back(code_.variables.values().size());
  code_.variables.declare_variable(name, {kFloatType, true}, {});
  states.push_back({std::string(name.text), static_cast<float>(initial), extent});
}

bool StateChecker::is_state(const Declared::Variable& variable) const {
  return std::find(slots_.begin(), slots_.end(), variable.slot) != slots_.end();
}

void StateChecker::begin_states() {
  Routine& routine = *code_.place.routine;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const ProgramState& state = code_.program.states[i];
    routine.states.push_back(code_.variables.new_variable(state.name, {kFloatType, state.extent}, {}));
    code_.variables.values()[slots_[i]] = routine.states.back();
  }
}

void StateChecker::end_states(const Function& function) {
  Routine& routine = *code_.place.routine;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const ProgramState& state = code_.program.states[i];
    const VariableId then = *code_.variables.values()[slots_[i]];
    const Extent& extent = *code_.program.variables[then].type.extent;
    if (extent != state.extent) {
      code_.refuse(function.at, "the state `" + state.name + "` has " + code_.sizes.text_of(state.extent) +
                                    " elements, here it becomes " + code_.sizes.text_of(extent));
    }
    routine.states_then.push_back(then);
    if (then == routine.states[i]) need_unread(function, i);
  }
}

/// A state that a function reads and never assigns is what it began with, for ever.
void StateChecker::need_unread(const Function& function, std::size_t state) {
  const Routine& routine = *code_.place.routine;
  const VariableId arrived = routine.states[state];
  bool read = false;
  const auto note = [&](const Term& term) { read |= term.op == Op::kVariable && term.variable == arrived; };
  for_each_term(routine, note);
  if (!read) return;
  const std::string name = "`" + code_.program.states[state].name + "`";
  code_.refuse(function.at,
               "`" + std::string(function.name.text) + "` reads the state " + name + " and never assigns it",
               "each of encode, merge and result has states of its own by the same names, so here it stays what it "
               "began with; assign it here, or make " +
                   name + " of what this function sees");
}

}  // namespace casync::compll
