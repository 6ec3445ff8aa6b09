// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/tiles/cpu/block_values.h"

#include <utility>

namespace casync::compll {
namespace {

/// The block's values of one pass. Loop i is that of phase i; the values of phase i + 1 are computed after it, and
/// those of phase 0 ahead of it.
class BlockValues {
 public:
  BlockValues(const RoutineValues& values, const Pass& pass)
      : graph_(*values.graph), values_(values), computed_in_(graph_.values().size(), 0) {
    for (std::size_t i = 0; i < pass.phases.size(); ++i) {
      const Phase& phase = pass.phases[i];
      const std::size_t before = i == 0 ? 0 : i - 1;
      for (const ValueId id : phase.of_block) {
        computed_in_[id] = before;
        if (values_.has_line[id]) use_arguments(id, before);
      }
      for (const Output& output : phase.block_stores) use(output.value, before);
      for (const ValueId id : phase.elements) {
        if (graph_[id].kind != Value::Kind::kTransform) use_arguments(id, i);
      }
      for (const ValueId id : phase.transforms) use_arguments(id, i);
      for (const Output& output : phase.stores) use(output.value, i);
    }
  }

  void plan(CpuPass& pass) const {
    for (const auto& [id, loop] : used_in_) {
      if (loop != computed_in_[id]) pass.handed_on.insert(id);
    }
    for (CpuLoop& loop : pass.loops) {
      for (const ValueId id : pass.handed_on) {
        const bool is_computed = computed_in_[id] == loop.phase;
        if (is_computed) loop.saves.push_back(id);
        if (!is_computed && used_in_.contains({id, loop.phase})) loop.loads.push_back(id);
      }
    }
  }

 private:
  /// Records a use of a block's value if that has a line; else uses of the values that it is made of.
  void use(ValueId id, std::size_t loop) {
    const Value& value = graph_[id];
    if (value.domain == Domain::kBlock && values_.has_line[id]) {
      used_in_.insert({id, loop});
    } else if (value.domain == Domain::kBlock || value.kind == Value::Kind::kSpread) {
      use_arguments(id, loop);
    }
  }

  /// Records uses of a value's operands. A block reduction took its elements earlier; it uses its initial value here.
  void use_arguments(ValueId id, std::size_t loop) {
    const Value& value = graph_[id];
    for (std::size_t i = value.kind == Value::Kind::kBlockReduce ? 1 : 0; i < value.arguments.size(); ++i) {
      use(value.arguments[i], loop);
    }
  }

  const Graph& graph_;
  const RoutineValues& values_;
  std::vector<std::size_t> computed_in_;
  std::set<std::pair<ValueId, std::size_t>> used_in_;
};

}  // namespace

void hand_on_block_values(CpuEncoder& plan) {
  for (std::size_t i = 0; i < plan.passes.size(); ++i) {
    BlockValues(plan.values, plan.schedule.passes[i]).plan(plan.passes[i]);
  }
}

}  // namespace casync::compll
