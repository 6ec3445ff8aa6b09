// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/cuda/arrays.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "compll/ir/vector/cuda/operators.h"
#include "compll/ir/vector/cuda/places.h"
#include "compll/ir/vector/cuda/ready.h"
#include "compll/ir/vector/cuda/staging.h"
#include "compll/ir/vector/cuda/tasks.h"
#include "compll/ir/vector/cuda/uses.h"
#include "compll/lang/terms.h"

namespace casync::compll::cuda_vector {
namespace {

/// Returns true if an element takes random numbers.
bool draws(const Body& body) {
  bool any = false;
  for_each_term(body, [&](const Term& each) { any |= is_random(each); });
  return any;
}

}  // namespace

void Arrays::plan_step(const compll::Step& step) {
  Routine& plan = staging_.plan;
  const Program& program = *plan.program;
  const Term& term = *step.value;
  if (uses_of(plan, step) == 0 || is_changed(plan, step)) return;
  const VariableId first = step.variables.front();
  if (term.op == Op::kVariable) {
    // Without a value it is another name of an array that is changed where it lies, which only its state uses.
    if (const std::optional<Id> value = find_value(plan, term.variable)) plan.of_variable[first] = *value;
    return;
  }
  if (!term.type().is_array()) {
    plan_term(term);
    check(term);
    plan.of_variable[first] =
        add_value(plan, {value_name(program, first), term.type(), Single{&term}, ready(plan, term)});
    return;
  }
  plan_parts(term);
  if (step.variables.size() == 1) {
    plan.of_variable[first] = plan_array(term, value_name(program, first), first);
    return;
  }
  for (std::size_t i = 0; i < step.variables.size(); ++i) {
    const VariableId id = step.variables[i];
    if (plan.uses[id] != 0) plan.of_variable[id] = plan_function(term, i, value_name(program, id));
  }
}

void Arrays::plan_parts(const Term& term) {
  for (const TermPtr& argument : term.arguments) plan_term(*argument);
  if (!term.function) return;
  for (const compll::Step& step : term.function->steps) plan_term(*step.value);
  for (const TermPtr& result : term.function->results) plan_term(*result);
}

void Arrays::plan_term(const Term& term) {
  if (term.op == Op::kSize || term.op == Op::kVariable) return;
  plan_parts(term);
  if (term.op == Op::kReduce) return staging_.reductions.plan_reduction(term);
  if (term.op == Op::kKthLargest) return plan_kth_largest(staging_, term);
  if (!term.type().is_array()) return;
  const std::string name = staging_.temporary(std::string(name_of(term.op)));
  const Id array = plan_array(term, name, {});
  staging_.plan.of_term[&term] = array;
}

Id Arrays::plan_array(const Term& term, const std::string& name, std::optional<VariableId> id) {
  const std::optional<ArrayOp> op = array_op(term.op);
  CASYNC_CHECK(op.has_value());
  switch (*op) {
    case ArrayOp::kMap: return plan_map(term, name, id);
#define COMPLL_ARRAY(operation, word, ...)        \
  case ArrayOp::k##operation: {                   \
    return plan_##word(staging_, term, name, id); \
  }
#define COMPLL_VECTOR(operation, ...)       \
  case ArrayOp::k##operation: {             \
    return plan_call(staging_, term, name); \
  }
#include "compll/lang/operators.def"
    case ArrayOp::kExchange: break;  // between two turns
    case ArrayOp::kReduce:
    case ArrayOp::kKthLargest: CASYNC_CHECK(false);  // no arrays: plan_term() plans them
  }
  refuse(term.at, "`" + std::string(name_of(term.op)) + "`");
}

Id Arrays::plan_function(const Term& term, std::size_t result, const std::string& name) {
  Routine& plan = staging_.plan;
  check(*term.function);
  const std::uint32_t stage = ready_of_function(plan, *term.function);
  Ready when{stage, stage};
  Map map{&term, result, {}};
  for (std::size_t i = 0; i < term.arguments.size(); ++i) {
    const Ready argument = ready(plan, *term.arguments[i]);
    when.own = std::max(when.own, argument.own);
    when.all = std::max(when.all, argument.all);
    map.arguments.emplace_back();
    if (plan.uses[term.function->parameters[i]] != 0) map.arguments.back() = value_of(plan, *term.arguments[i]);
  }
  return add_value(plan, {name, term.types[result], std::move(map), when});
}

Id Arrays::plan_map(const Term& term, const std::string& name, std::optional<VariableId> id) {
  const auto chosen = staging_.plan.storage.find(&term);
  const Storage storage = id && chosen != staging_.plan.storage.end() ? chosen->second : Storage::kNowhere;
  if (storage == Storage::kMemory) return plan_stored_map(term, name, id);
  const Id array = plan_function(term, 0, name);
  if (storage == Storage::kProduct) {
    staging_.plan.values[array].fills = address_for(staging_.plan, id, name, term.type());
  }
  return array;
}

Id Arrays::plan_stored_map(const Term& term, const std::string& name, std::optional<VariableId> id) {
  Routine& plan = staging_.plan;
  const Type& type = term.type();
  const Address to = address_for(plan, id, name, type);
  const Id from = plan_function(term, 0, name + "_each");
  const std::uint32_t stage = plan.values[from].ready.own;
  Fill fill{.from = from, .type = type, .to = to, .evenly = is_shared_evenly(type), .waits = true};
  if (draws(*term.function)) fill.manner = Fill::Manner::kNeighbours;
  if (type.is_over(Extent::Kind::kBlocks)) fill.manner = Fill::Manner::kBlocks;
  add_own(plan, stage, fill, fill.evenly ? 0 : 1);
  return add_memory(plan, name, type, to, {stage, stage + 1});
}

Id Arrays::store(Id array, std::optional<VariableId> id) {
  Routine& plan = staging_.plan;
  const Value each = plan.values[array];
  const std::string name = each.name + "_kept";
  const Address to = address_for(plan, id, name, each.type);
  const std::uint32_t stage = each.type.is_over(Extent::Kind::kBlocks) ? each.ready.all : each.ready.own;
  add(plan, stage,
      Fill{.from = array, .type = each.type, .to = to, .evenly = is_shared_evenly(each.type), .waits = true});
  return add_memory(plan, name, each.type, to, ready_by_shares(each.type, stage));
}

void Arrays::store_computed(const Term& term) {
  const Id array = value_of(staging_.plan, term);
  if (staging_.plan.values[array].is_computed()) rebind(staging_.plan, term, store(array, {}));
}

}  // namespace casync::compll::cuda_vector
