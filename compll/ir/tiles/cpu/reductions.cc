// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/tiles/cpu/reductions.h"

#include <algorithm>

#include "compll/ir/cannot_plan.h"
#include "compll/ir/tiles/outputs.h"
#include "compll/ops/generated.h"

namespace casync::compll {
namespace {

/// The reduction to the largest magnitude of the input, or of each of its blocks, if the program has one.
std::optional<ValueId> top_of_input(const Graph& graph, const Pass& pass) {
  for (const ValueId id : pass.phases.front().reductions) {
    const Value& value = graph[id];
    if (value.reducer == Reducer::kMagnitude && graph[value.arguments.front()].kind == Value::Kind::kInput) return id;
  }
  return std::nullopt;
}

void check_reduction(const Graph& graph, const Value& value) {
  const ScalarType type = graph[value.arguments.front()].type;
  if (value.over != Domain::kElement) throw CannotPlan{value.at, "a reduction of blocks"};
  const bool needs_32_bits =
      value.reducer == Reducer::kMin || value.reducer == Reducer::kMax || value.reducer == Reducer::kUser;
  if (needs_32_bits && type.bits != 32) throw CannotPlan{value.at, "this reduction"};
}

/// Returns true if a result depends on the order of elements: with more than a chunk of them it is then combined from
/// chunks. Blocks that are smaller than a chunk do not need that.
bool is_in_chunks(const CpuEncoder& plan, const Value& value) {
  const bool has_small_blocks =
      value.kind == Value::Kind::kBlockReduce && !plan.block->parameter && plan.block->value <= 4096;
  if (has_small_blocks) return false;
  if (value.reducer == Reducer::kSum) return plan.graph()[value.arguments.front()].type.is_float();
  return value.reducer == Reducer::kUser;
}

CpuReduction reduction_of(const CpuEncoder& plan, const Value& value, const std::optional<Condition>& condition) {
  const Graph& graph = plan.graph();
  const ValueId operand = value.arguments.front();
  const bool counts = value.reducer == Reducer::kCount;
  const bool is_constant = graph[operand].kind == Value::Kind::kConstant;
  return {.taken = counts ? as_bool(graph, operand) : operand,
          .condition = condition,
          .in_chunks = is_in_chunks(plan, value),
          .counts_all = counts && is_constant && graph[operand].number != 0};
}

bool uses_double(const Graph& graph, const Value& value) {
  return std::any_of(value.arguments.begin(), value.arguments.end(),
                     [&](ValueId id) { return graph[id].type == kDoubleType && graph[id].domain == Domain::kElement; });
}

void check_double(const Graph& graph, const Value& value) {
  if (value.type != kDoubleType && !uses_double(graph, value)) return;
  if (value.kind != Value::Kind::kCompute) return;
  const bool arithmetic =
      value.op == Op::kAdd || value.op == Op::kSubtract || value.op == Op::kMultiply || value.op == Op::kDivide;
  const bool widens =
      value.op == Op::kConvert && value.type == kDoubleType && graph[value.arguments[0]].type != kBoolType;
  const bool narrows = value.op == Op::kConvert && value.type == kFloatType;
  if (!arithmetic && !widens && !narrows) throw CannotPlan{value.at, "this operation on a double of each element"};
}

}  // namespace

ValueId as_bool(const Graph& graph, ValueId id) {
  const Value& value = graph[id];
  const bool of_bool = value.kind == Value::Kind::kCompute && value.op == Op::kConvert &&
                       value.type.kind == ScalarType::Kind::kUint && graph[value.arguments.front()].type == kBoolType;
  return of_bool ? value.arguments.front() : id;
}

void plan_reductions(CpuEncoder& plan) {
  constexpr std::size_t kInChunksBytes = 1024, kOtherBytes = 128;  // the most that one takes in the tensor's state
  const Graph& graph = plan.graph();
  auto conditions = needed_if(graph, values_of(outputs_of(*plan.encode)));
  plan.top = top_of_input(graph, plan.schedule.passes.front());
  if (plan.top) conditions[*plan.top].reset();
  std::size_t bytes = 0;
  for (const Pass& pass : plan.schedule.passes) {
    for (const Phase& phase : pass.phases) {
      for (const ValueId id : phase.reductions) {
        const CpuReduction& made = plan.reductions[id] = reduction_of(plan, graph[id], conditions[id]);
        if (graph[id].kind != Value::Kind::kBlockReduce || !made.counts_all) check_reduction(graph, graph[id]);
        if (graph[id].kind != Value::Kind::kReduce) continue;
        bytes += made.in_chunks ? kInChunksBytes : kOtherBytes;
        if (bytes > kMostTensorBytes) {
          throw CannotPlan{graph[id].at, "a program with so many reductions of the whole vector"};
        }
      }
    }
  }
}

void check_doubles(const Graph& graph, const Schedule& schedule) {
  for (const Pass& pass : schedule.passes) {
    for (const Phase& phase : pass.phases) {
      for (const ValueId id : phase.elements) check_double(graph, graph[id]);
    }
  }
  for (const ReducerFunction& function : graph.functions()) {
    for (const Value& value : function.graph.values()) {
      if (value.domain == Domain::kElement) check_double(function.graph, value);
    }
  }
}

}  // namespace casync::compll
