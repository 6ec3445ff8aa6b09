// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/cuda/steps.h"

#include "compll/ir/vector/cuda/input.h"
#include "compll/ir/vector/cuda/ready.h"
#include "compll/ir/vector/cuda/staging.h"
#include "compll/ir/vector/cuda/tasks.h"

namespace casync::compll::cuda_vector {
namespace {

/// Binds a variable to memory that is there when the launch begins.
void bind(Routine& plan, VariableId id, Address at, Ready ready = {}) {
  const Type& type = plan.program->variables[id].type;
  at.element = type.element;
  const std::string name = value_name(*plan.program, id);
  plan.of_variable[id] =
      type.is_array() ? add_memory(plan, name, type, at, ready) : add_value(plan, {name, type, Element{at}, ready});
}

void bind_states(Routine& plan) {
  const std::vector<VariableId>& states = plan.routine->states;
  for (std::size_t i = 0; i < states.size(); ++i) bind(plan, states[i], {Address::Base::kStateIn, i, kFloatType, {}});
}

void bind_sections(Routine& plan) {
  const std::vector<VariableId>& extracted = plan.routine->extracted;
  for (std::size_t i = 0; i < extracted.size(); ++i) {
    const Type& type = plan.program->sections[i].type;
    plan.of_variable[extracted[i]] = add_value(plan, {value_name(*plan.program, extracted[i]), type, Received{i}, {}});
  }
}

void bind_input(Routine& plan) {
  const Type& type = plan.program->variables[plan.routine->gradient].type;
  const SpaceId input = take_elements(plan, "input", type);
  bind(plan, plan.routine->gradient, {Address::Base::kInput, 0, kFloatType, input}, {0, 1});
  plan_input(plan);
}

/// Binds all that the turn reads of what was there and of what earlier turns have made.
void bind_of_turn(Routine& plan) {
  const auto bind_used = [&](VariableId id, const Address& at) {
    if (plan.uses[id] != 0) bind(plan, id, at);
  };
  const RoundsPlan& rounds = plan.rounds;
  bind_used(plan.routine->gradient, {Address::Base::kGiven, 0, kFloatType, {}});
  for (std::size_t i = 0; i < plan.routine->states.size(); ++i) {
    bind_used(plan.routine->states[i], {Address::Base::kStateIn, i, kFloatType, {}});
  }
  for (std::size_t i = 0; i < plan.turn; ++i) {
    bind_used(rounds.exchanged[i], {Address::Base::kExchanged, i, kFloatType, {}});
  }
  for (std::size_t i = 0; i < rounds.stored.size(); ++i) {
    if (rounds.stored_in[i] < plan.turn) bind_used(rounds.stored[i], {Address::Base::kStored, i, kFloatType, {}});
  }
}

void bind_inputs(Routine& plan) {
  switch (plan.role) {
    case Role::kEncode: bind_input(plan); return bind_states(plan);
    case Role::kDecode: return bind_sections(plan);
    case Role::kResult:
      bind(plan, plan.routine->gradient, {Address::Base::kGiven, 0, kFloatType, {}});
      return bind_states(plan);
    case Role::kTurn: return bind_of_turn(plan);
  }
}

}  // namespace

void plan_steps(Routine& plan) {
  bind_inputs(plan);
  Staging staging(plan);
  for (const compll::Step* step : plan.steps) staging.arrays.plan_step(*step);
}

}  // namespace casync::compll::cuda_vector
