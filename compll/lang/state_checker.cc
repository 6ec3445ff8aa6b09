// SPDX-License-Identifier: Apache-2.0
//
// The states that a codec keeps from step to step.
#include <cmath>

#include "compll/lang/code_checker.h"
#include "compll/lang/terms.h"

namespace casync::compll {

void CodeChecker::declare_state(const State& state) {
  const Word& name = state.variable.name;
  const DeclaredType type = type_of(state.variable.type);
  const bool sized = state.size != nullptr;
  if (type.array == sized || type.element != kFloatType) {
    refuse(state.variable.type.at,
           "a state of type " + text_of(Type{type.element, type.array ? std::optional(Extent{}) : std::nullopt}),
           "a state has a float for each element of the gradient, `state float* velocity;`, or in a codec with "
           "`synchronize` a size of its own, `state float right[rank * columns];`");
  }
  if (program_.states.size() == kStateLimit) {
    refuse(state.at, "more than " + std::to_string(kStateLimit) + " states");
  }
  const double initial = state.initial == nullptr ? 0 : constant(*state.initial, "what a state begins with");
  if (!std::isfinite(static_cast<float>(initial))) {
    refuse(state.initial->at, "a state that begins with a number beyond the range of float");
  }
  steps_ = &of_file_;
  const Extent extent = sized ? size_of(*state.size, "a state") : Extent{};
  states_.push_back(values_.size());
  declare_variable(name, {kFloatType, true}, {});
  program_.states.push_back({std::string(name.text), static_cast<float>(initial), extent});
}

void CodeChecker::begin_states() {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    routine_->states.push_back(new_variable(program_.states[i].name, {kFloatType, program_.states[i].extent}, {}));
    values_[states_[i]] = routine_->states.back();
  }
}

void CodeChecker::end_states(const Function& function) {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const VariableId then = *values_[states_[i]];
    const Extent& extent = *program_.variables[then].type.extent;
    if (extent != program_.states[i].extent) {
      refuse(function.at, "the state `" + program_.states[i].name + "` has " + text_of(program_.states[i].extent) +
                              " elements, here it becomes " + text_of(extent));
    }
    routine_->states_then.push_back(then);
    if (then == routine_->states[i]) need_unread(function, i);
  }
}

/// A state that a function reads and never assigns is what it began with, for ever.
void CodeChecker::need_unread(const Function& function, std::size_t state) {
  const VariableId arrived = routine_->states[state];
  bool read = false;
  const auto note = [&](const Term& term) { read |= term.op == Op::kVariable && term.variable == arrived; };
  for_each_term(*routine_, note);
  if (!read) return;
  const std::string name = "`" + program_.states[state].name + "`";
  refuse(function.at, "`" + std::string(function.name.text) + "` reads the state " + name + " and never assigns it",
         "each of encode, merge and result has states of its own by the same names, so here it stays what it began "
         "with; assign it here, or make " +
             name + " of what this function sees");
}

}  // namespace casync::compll
