// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/cuda/ready.h"

#include <algorithm>
#include <utility>

#include "compll/ir/cannot_plan.h"
#include "compll/lang/terms.h"

namespace casync::compll::cuda_vector {

Id add_value(Routine& plan, Value value) {
  plan.values.push_back(std::move(value));
  return static_cast<Id>(plan.values.size() - 1);
}

Id add_memory(Routine& plan, const std::string& name, const Type& type, const Address& at, Ready ready) {
  return add_value(plan, {name, type, Memory{at}, ready});
}

std::string value_name(const Program& program, VariableId id) {
  return program.variables[id].name + "_" + std::to_string(id);
}

Id value_of(const Routine& plan, const Term& term) {
  return term.op == Op::kVariable ? plan.of_variable.at(term.variable) : plan.of_term.at(&term);
}

std::optional<Id> find_value(const Routine& plan, VariableId id) {
  const auto found = plan.of_variable.find(id);
  return found == plan.of_variable.end() ? std::nullopt : std::optional<Id>(found->second);
}

void rebind(Routine& plan, const Term& array, Id value) {
  if (array.op == Op::kVariable) {
    plan.of_variable[array.variable] = value;
  } else {
    plan.of_term[&array] = value;
  }
}

Ready ready(const Routine& plan, const Term& term) {
  if (term.op == Op::kVariable) {
    const std::optional<Id> value = find_value(plan, term.variable);
    return value ? plan.values[*value].ready : Ready{};
  }
  if (term.type().is_array()) return plan.values[value_of(plan, term)].ready;
  const std::uint32_t stage = ready_of_scalar(plan, term);
  return {stage, stage};
}

Ready ready(const Routine& plan, VariableId id) { return plan.values[plan.of_variable.at(id)].ready; }

std::uint32_t ready_to_share(const Routine& plan, const Term& term) {
  const Ready when = ready(plan, term);
  return term.type().is_over(Extent::Kind::kBlocks) ? when.all : when.own;
}

Ready ready_by_shares(const Type& type, std::uint32_t stage) {
  return {type.is_over(Extent::Kind::kBlocks) ? stage + 1 : stage, stage + 1};
}

std::uint32_t ready_of_scalar(const Routine& plan, const Term& term) {
  if (term.op == Op::kSize) return 0;
  if (reduces_array(term)) return plan.values[value_of(plan, term)].ready.all;
  if (term.op == Op::kVariable) return ready(plan, term).all;
  std::uint32_t stage = term.op == Op::kElement ? ready(plan, *term.arguments[0]).all : 0;
  for (const TermPtr& argument : term.arguments) {
    if (!argument->type().is_array()) stage = std::max(stage, ready_of_scalar(plan, *argument));
  }
  return stage;
}

std::uint32_t ready_of_function(const Routine& plan, const Body& body) {
  std::uint32_t stage = 0;
  for (const compll::Step& step : body.steps) stage = std::max(stage, ready_of_scalar(plan, *step.value));
  for (const TermPtr& result : body.results) stage = std::max(stage, ready_of_scalar(plan, *result));
  return stage;
}

void check(const Term& term) {
  if (term.op == Op::kSize || reduces_array(term)) return;
  if (term.op == Op::kElement) return check(*term.arguments[1]);
  if (array_op(term.op)) refuse(term.at, "`" + std::string(name_of(term.op)) + "` here");
  for (const TermPtr& argument : term.arguments) check(*argument);
}

void check(const Body& body) {
  for (const compll::Step& step : body.steps) check(*step.value);
  for (const TermPtr& result : body.results) check(*result);
}

void refuse(Span at, const std::string& what) { throw CannotPlan{at, what}; }

}  // namespace casync::compll::cuda_vector
