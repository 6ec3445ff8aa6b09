// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/tiles/cpu/loops.h"

#include <algorithm>

#include "compll/ir/cannot_plan.h"
#include "compll/ir/tiles/cpu/packing.h"
#include "compll/ir/tiles/cpu/values.h"
#include "compll/ir/tiles/outputs.h"

namespace casync::compll {
namespace {

/// One pass of encode.
class Loops {
 public:
  Loops(const CpuEncoder& plan, std::size_t number)
      : plan_(plan), graph_(plan.graph()), pass_(plan.schedule.passes[number]), is_first_(number == 0) {}

  CpuPass run() {
    made_.has_blocks = has_blocks(pass_);
    // The first pass always runs: it checks all elements.
    made_.waits = !is_first_ && is_for_kept(pass_);
    made_.check = check();
    for (const Phase& phase : pass_.phases) note(phase);
    const std::size_t longest = longest_loop(pass_);
    for (std::size_t i = 0; i < pass_.phases.size(); ++i) {
      // A block's values are computed in the loop above theirs.
      const bool begins_pass = i == 0 && (is_first_ || !pass_.phases[i].of_block.empty());
      if (made_.has_blocks && !has_loop(pass_.phases[i]) && !begins_pass) continue;
      CpuLoop loop = loop_of(pass_.phases[i], i == 0);
      loop.phase = i;
      loop.is_longest = i == longest;
      loop.waits = made_.has_blocks ? !begins_pass && only_for_kept(pass_.phases[i]) : made_.waits;
      if (i == 0) loop.ahead = block_values_of(pass_.phases[i]);
      if (i + 1 < pass_.phases.size()) loop.after = block_values_of(pass_.phases[i + 1]);
      made_.loops.push_back(std::move(loop));
    }
    return std::move(made_);
  }

 private:
  /// Later passes see the same elements as the first one.
  CpuCheck check() const {
    if (!is_first_) return CpuCheck::kNone;
    if (!plan_.top) return CpuCheck::kOwn;
    return graph_[*plan_.top].kind == Value::Kind::kBlockReduce ? CpuCheck::kBlocks : CpuCheck::kReduction;
  }

  /// Notes what is set up ahead of all loops.
  void note(const Phase& phase) {
    for (const ValueId id : phase.elements) {
      const bool is_known = std::find(made_.random.begin(), made_.random.end(), id) != made_.random.end();
      if (is_random(graph_[id]) && !is_known) made_.random.push_back(id);
    }
    for (const Output& output : phase.stores) {
      if (output.kind != Output::Kind::kSection) continue;
      if (is_packed(plan_.program->sections[output.index].type.element)) made_.packed.push_back(output.index);
    }
    for (const ValueId id : phase.reductions) {
      (graph_[id].kind == Value::Kind::kReduce ? made_.reductions : made_.block_reductions).push_back(id);
    }
  }

  /// Returns true if a phase has work only if a residual or states are kept.
  bool only_for_kept(const Phase& phase) const {
    return phase.reductions.empty() &&
           std::none_of(phase.transforms.begin(), phase.transforms.end(),
                        [&](ValueId id) { return plan_.always[id]; }) &&
           std::all_of(phase.stores.begin(), phase.stores.end(), is_kept);
  }

  CpuBlockValues block_values_of(const Phase& phase) const {
    CpuBlockValues made{with_lines(phase.of_block, plan_.values), phase.block_stores};
    for (const ValueId id : made.values) {
      if (is_random(graph_[id])) throw CannotPlan{graph_[id].at, "a random number for each block"};
    }
    return made;
  }

  /// The first loop of a pass goes through every element of the input, used or not: all have to be finite.
  CpuLoop loop_of(const Phase& phase, bool is_first_loop) const {
    CpuLoop made;
    made.takes_top = is_first_loop && made_.check == CpuCheck::kOwn;
    const auto input = std::find(phase.elements.begin(), phase.elements.end(), plan_.encode->input);
    made.loads_input = made.takes_top || input != phase.elements.end();
    std::copy_if(phase.elements.begin(), phase.elements.end(), std::back_inserter(made.states),
                 [&](ValueId id) { return graph_[id].kind == Value::Kind::kState; });
    const ValueFlags always = needed_without_kept(phase);
    made.elements = elements_of(phase, always, ValueFlags(always.size(), false));
    std::copy_if(phase.reductions.begin(), phase.reductions.end(), std::back_inserter(made.reductions),
                 [&](ValueId id) {
                   return graph_[id].kind != Value::Kind::kBlockReduce || !plan_.reductions.at(id).counts_all;
                 });
    for (const Output& output : phase.stores) {
      if (output.kind == Output::Kind::kSection) made.sections.push_back({output.index, written_as(plan_, output)});
    }
    made.residual = residual_of(phase, always);
    made.states_then = states_of(phase, always);
    made.transforms = phase.transforms;
    return made;
  }

  /// The values that a loop computes even if nothing is kept.
  ValueFlags needed_without_kept(const Phase& phase) const {
    ValueFlags needed(graph_.values().size(), false);
    for (const ValueId id : phase.reductions) needed[graph_[id].arguments.front()] = true;
    for (const ValueId id : phase.transforms) {
      if (plan_.always[id]) needed[graph_[id].arguments.front()] = true;
    }
    for (const Output& output : phase.stores) {
      if (output.kind == Output::Kind::kSection) needed[output.value] = true;
    }
    return below(graph_, std::move(needed));
  }

  /// The elements of a loop that these need, except for those in `there`.
  std::vector<ValueId> elements_of(const Phase& phase, ValueFlags needed, const ValueFlags& there) const {
    needed = below(graph_, std::move(needed));
    std::vector<ValueId> elements = defined_in_loop(plan_, phase.elements);
    std::erase_if(elements, [&](ValueId id) { return !needed[id] || there[id]; });
    return elements;
  }

  /// The part that runs only if a residual is kept: the residual, and operands of transforms that only it needs.
  std::optional<CpuKept> residual_of(const Phase& phase, const ValueFlags& always) const {
    CpuKept made;
    ValueFlags needed(graph_.values().size(), false);
    bool any = false;
    for (const ValueId id : phase.transforms) {
      any = any || !plan_.always[id];
      needed[graph_[id].arguments.front()] = true;
    }
    for (const Output& output : phase.stores) {
      if (output.kind != Output::Kind::kResidual) continue;
      needed[output.value] = true;
      made.stores.push_back(output);
    }
    if (!any && made.stores.empty()) return std::nullopt;
    made.elements = elements_of(phase, std::move(needed), always);
    return made;
  }

  /// The part that runs only if states are kept.
  std::optional<CpuKept> states_of(const Phase& phase, const ValueFlags& always) const {
    CpuKept made;
    ValueFlags needed(graph_.values().size(), false);
    for (const Output& output : phase.stores) {
      if (output.kind != Output::Kind::kState) continue;
      needed[output.value] = true;
      made.stores.push_back(output);
    }
    if (made.stores.empty()) return std::nullopt;
    made.elements = elements_of(phase, std::move(needed), always);
    return made;
  }

  const CpuEncoder& plan_;
  const Graph& graph_;
  const Pass& pass_;
  const bool is_first_;
  CpuPass made_;
};

}  // namespace

void schedule_loops(CpuEncoder& plan) {
  plan.schedule = schedule(plan.graph(), outputs_of(*plan.encode), Transforms::kKept);
}

void lay_out_loops(CpuEncoder& plan) {
  for (std::size_t i = 0; i < plan.schedule.passes.size(); ++i) plan.passes.push_back(Loops(plan, i).run());
}

}  // namespace casync::compll
