// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/tiles/cuda/loops.h"

#include <algorithm>

#include "compll/ir/cannot_plan.h"
#include "compll/ir/tiles/cuda/ahead.h"
#include "compll/ir/tiles/cuda/reductions.h"

namespace casync::compll {
namespace {

bool is_section(const Output& output) { return output.kind == Output::Kind::kSection; }

/// One pass of encode.
class Loops {
 public:
  Loops(const CudaEncoder& plan, const Pass& pass)
      : plan_(plan), graph_(plan.graph()), pass_(pass), ahead_{graph_, plan.values, plan.of_places} {}

  CudaPass run() {
    for (const Phase& phase : pass_.phases) {
      for (const ValueId id : phase.reductions) {
        if (is_of_tensor(id)) made_.reductions.push_back(id);
      }
    }
    find_random();
    find_kept();
    for (const Phase& phase : pass_.phases) made_.phases.push_back(phase_of(phase));
    return std::move(made_);
  }

 private:
  bool is_of_tensor(ValueId id) const { return graph_[id].kind == Value::Kind::kReduce; }

  void find_random() {
    for (const Phase& phase : pass_.phases) {
      for (const ValueId id : phase.of_block) made_.draws = made_.draws || is_random(graph_[id]);
      for (const ValueId id : phase.elements) {
        const auto known = std::find(made_.random.begin(), made_.random.end(), id);
        if (is_random(graph_[id]) && known == made_.random.end()) made_.random.push_back(id);
      }
    }
    made_.draws = made_.draws || !made_.random.empty();
  }

  /// Finds the values that are written ahead of several loops.
  void find_kept() {
    std::set<ValueId> once, several;
    for (const Phase& phase : pass_.phases) {
      for (const ValueId id : ahead_.ahead_of(targets_of(phase, phase.reductions))) {
        if (!once.insert(id).second) several.insert(id);
      }
    }
    made_.kept.assign(several.begin(), several.end());
  }

  /// The elements that a loop needs even if no residual is kept: states are kept as a rule.
  std::vector<ValueId> targets_of(const Phase& phase, const std::vector<ValueId>& reductions) const {
    std::vector<ValueId> targets;
    for (const ValueId id : reductions) targets.push_back(graph_[id].arguments.front());
    for (const Output& output : phase.stores) {
      if (output.kind != Output::Kind::kResidual) targets.push_back(output.value);
    }
    return targets;
  }

  CudaPhase phase_of(const Phase& phase) {
    CudaPhase made;
    made.of_block = with_lines(phase.of_block, plan_.values.of);
    made.block_stores = phase.block_stores;
    made.has_loop = has_loop(phase);
    if (!made.has_loop) return made;
    std::vector<ValueId> in_quads, in_lanes;
    for (const ValueId id : phase.reductions) {
      (is_ordered(graph_, graph_[id]) ? in_lanes : in_quads).push_back(id);
      if (!is_of_tensor(id)) made.block_reductions.push_back(id);
    }
    if (!phase.stores.empty() || !in_quads.empty()) made.quads = quads_of(phase, std::move(in_quads));
    if (!in_lanes.empty()) made.lanes = lanes_of(phase, std::move(in_lanes));
    return made;
  }

  CudaQuads quads_of(const Phase& phase, std::vector<ValueId> reductions) {
    std::optional<ValueId> residual;
    for (const Output& output : phase.stores) {
      if (output.kind == Output::Kind::kResidual) residual = output.value;
      if (is_section(output) && graph_[output.value].type == kDoubleType) {
        throw CannotPlan{graph_[output.value].at, "a section of doubles"};
      }
    }
    const std::vector<ValueId> targets = targets_of(phase, reductions);
    std::vector<ValueId> all = targets;
    if (residual) all.push_back(*residual);
    const ValueFlags in_loop = below(graph_, all, Domain::kElement), always = ahead_.up_to_ahead(targets);
    CudaQuads made;
    made.stores = phase.stores;
    made.reductions = std::move(reductions);
    for (const ValueId id : phase.elements) {
      if (graph_[id].kind == Value::Kind::kState) made.states.push_back(id);
      if (in_loop[id] && is_random(graph_[id])) made.drawn.push_back(id);
    }
    for (const ValueId id : ahead_.ahead_of(targets)) made.ahead.push_back(ahead_of_loop(id));
    made.elements = elements_of(phase, always);
    if (residual) made.residual = residual_of(phase, *residual, made.ahead, always, all);
    return made;
  }

  /// The flagged elements of a loop, in its order.
  std::vector<ValueId> elements_of(const Phase& phase, const ValueFlags& here) const {
    std::vector<ValueId> elements = with_lines(phase.elements, plan_.values.of);
    std::erase_if(elements, [&](ValueId id) { return !here[id]; });
    return elements;
  }

  CudaAhead ahead_of_loop(ValueId id) {
    CudaAhead made = ahead_.plan_of(id);
    made.is_kept = kept_.contains(id);
    made.keeps = !made.is_kept && std::find(made_.kept.begin(), made_.kept.end(), id) != made_.kept.end();
    if (made.keeps) kept_.insert(id);
    return made;
  }

  CudaResidual residual_of(const Phase& phase, ValueId residual, const std::vector<CudaAhead>& there,
                           const ValueFlags& always, const std::vector<ValueId>& all) const {
    CudaResidual made{.value = residual,
                      .asks = !plan_.program->declares.feedback,
                      .rotates = graph_.has_transforms(),
                      .ahead = {},
                      .elements = {}};
    if (!made.rotates) {
      ValueFlags rest = ahead_.up_to_ahead(all);
      for (ValueId id = 0; id < rest.size(); ++id) rest[id] = rest[id] && !always[id];
      made.elements = elements_of(phase, rest);
      return made;
    }
    for (const ValueId id : ahead_.ahead_of({residual})) {
      const bool known = std::any_of(there.begin(), there.end(), [&](const CudaAhead& each) { return each.id == id; });
      if (!known) made.ahead.push_back(ahead_.plan_of(id));
    }
    made.elements = elements_of(phase, ahead_.up_to_ahead({residual}));
    return made;
  }

  CudaLanes lanes_of(const Phase& phase, std::vector<ValueId> reductions) const {
    std::vector<ValueId> targets;
    targets.reserve(reductions.size());
    for (const ValueId id : reductions) targets.push_back(graph_[id].arguments.front());
    CudaLanes made;
    made.elements = elements_of(phase, below(graph_, targets, Domain::kElement));
    const std::optional<Condition>& condition = plan_.conditions[reductions.front()];
    const bool is_for_one_choice = condition && std::all_of(reductions.begin(), reductions.end(), [&](ValueId id) {
                                     return plan_.conditions[id] == condition;
                                   });
    if (is_for_one_choice) made.condition = condition;
    made.are_sums = std::all_of(reductions.begin(), reductions.end(),
                                [&](ValueId id) { return graph_[id].reducer == Reducer::kSum; });
    made.reductions = std::move(reductions);
    return made;
  }

  const CudaEncoder& plan_;
  const Graph& graph_;
  const Pass& pass_;
  const CudaAheadOf ahead_;
  CudaPass made_;
  std::set<ValueId> kept_;  ///< the values that an earlier loop has kept
};

/// The values that a pass computes and stores, which the tensor's values have to precede.
std::vector<ValueId> targets_of(const CudaEncoder& plan, const Pass& pass) {
  std::vector<ValueId> targets;
  for (const Phase& phase : pass.phases) {
    targets.insert(targets.end(), phase.elements.begin(), phase.elements.end());
    targets.insert(targets.end(), phase.of_block.begin(), phase.of_block.end());
    for (const Output& output : phase.stores) targets.push_back(output.value);
    for (const ValueId id : phase.reductions) {
      const std::vector<ValueId>& arguments = plan.graph()[id].arguments;
      targets.insert(targets.end(), arguments.begin(), arguments.end());
      if (plan.conditions[id]) targets.push_back(plan.conditions[id]->value);
    }
  }
  return targets;
}

/// The sections that a pass writes.
std::vector<Output> stores_of(const Pass& pass) {
  std::vector<Output> all;
  for (const Phase& phase : pass.phases) {
    all.insert(all.end(), phase.block_stores.begin(), phase.block_stores.end());
    std::copy_if(phase.stores.begin(), phase.stores.end(), std::back_inserter(all), is_section);
  }
  return all;
}

CudaPreamble preamble_of(const CudaEncoder& plan, const std::vector<ValueId>& targets, std::vector<Output> stores) {
  const std::vector<ValueId> needed = flagged(tensor_values_below(plan.graph(), targets));
  for (const ValueId id : needed) {
    if (is_random(plan.graph()[id])) throw CannotPlan{plan.graph()[id].at, "a random number for the tensor"};
  }
  return {with_lines(needed, plan.values.of), std::move(stores)};
}

}  // namespace

void lay_out_loops(CudaEncoder& plan) {
  for (const Pass& pass : plan.schedule.passes) plan.passes.push_back(Loops(plan, pass).run());
}

void plan_preambles(CudaEncoder& plan) {
  for (std::size_t i = 0; i < plan.passes.size(); ++i) {
    const Pass& pass = plan.schedule.passes[i];
    plan.passes[i].preamble = preamble_of(plan, targets_of(plan, pass), stores_of(pass));
  }
  std::vector<ValueId> targets;
  for (const Output& output : plan.schedule.tensor_stores) targets.push_back(output.value);
  plan.end = preamble_of(plan, targets, plan.schedule.tensor_stores);
}

}  // namespace casync::compll
