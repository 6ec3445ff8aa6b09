// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/tiles/cuda/launches.h"

#include <algorithm>

#include "compll/ir/cannot_plan.h"
#include "compll/ir/tiles/cuda/reductions.h"
#include "compll/ir/tiles/outputs.h"

namespace casync::compll {
namespace {

void place_reduction(CudaEncoder& plan, ValueId id) {
  const Value& value = plan.graph()[id];
  if (!has_cuda_reducer(plan.graph(), value)) throw CannotPlan{value.at, "this reduction"};
  const bool ordered = is_ordered(plan.graph(), value);
  if (value.kind == Value::Kind::kBlockReduce) plan.shape.ordered = plan.shape.ordered || ordered;
  if (value.kind != Value::Kind::kReduce) return;
  plan.slots[id] = plan.shape.slots++;
  // Its chunks would have to be put together in a launch of their own.
  if (ordered) throw CannotPlan{value.at, "a reduction of the whole vector in its order"};
}

}  // namespace

void schedule_loops(CudaEncoder& plan) {
  plan.schedule = schedule(plan.graph(), outputs_of(*plan.encode), Transforms::kAgain);
}

void plan_launches(CudaEncoder& plan) {
  for (const Pass& pass : plan.schedule.passes) {
    for (const Phase& phase : pass.phases) {
      for (const ValueId id : phase.reductions) place_reduction(plan, id);
    }
  }
  cuda::Shape& shape = plan.shape;
  plan.statistics = plan.schedule.passes.size() - 1;
  shape.statistics = plan.statistics != 0;
  shape.second_for_kept = plan.statistics == 1 && is_for_kept(plan.schedule.passes.back());
  // A second pass could not begin until the first one is over everywhere.
  if (plan.statistics > 1) {
    throw CannotPlan{plan.program->variables[plan.program->encode.gradient].at, "a program of more than two passes"};
  }
  if (!plan.block) return;
  shape.has_blocks = true;
  if (plan.block->parameter) {
    shape.block_parameter = static_cast<std::int32_t>(*plan.block->parameter);
  } else {
    shape.fixed_block = plan.block->value;
  }
}

cuda::Shape shape_of_both(const cuda::Shape& encode, const cuda::Shape& merge) {
  cuda::Shape shape = encode;
  shape.slots = std::max(shape.slots, merge.slots);
  shape.ordered = shape.ordered || merge.ordered;
  shape.statistics = shape.statistics || merge.statistics;
  shape.second_for_kept = shape.second_for_kept && merge.second_for_kept;
  return shape;
}

}  // namespace casync::compll
