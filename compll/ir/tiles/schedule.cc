// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/tiles/schedule.h"

#include <algorithm>
#include <cstddef>

namespace casync::compll {
namespace {

using Flags = std::vector<bool>;

class Scheduler {
 public:
  Scheduler(const Graph& graph, const std::vector<Output>& outputs, Transforms transforms)
      : graph_(graph), outputs_(outputs), keeps_transforms_(transforms == Transforms::kKept) {
    for (ValueId id = 0; id < graph.values().size(); ++id) {
      const Value& value = graph[id];
      std::size_t pass = 0;
      for (const ValueId argument : value.arguments) pass = std::max(pass, pass_[argument]);
      pass_.push_back(pass + (value.kind == Value::Kind::kReduce ? 1 : 0));
    }
    mark_needed();
  }

  Schedule run() {
    Schedule made;
    std::size_t count = 0;
    for (const Output& output : outputs_) {
      const bool whole = graph_[output.value].domain == Domain::kTensor && output.kind == Output::Kind::kSection;
      count = std::max(count, pass_[output.value] + (whole ? 0 : 1));
    }
    for (std::size_t pass = 0; pass < count; ++pass) made.passes.push_back(make_pass(pass));
    made.of_tensor = tensor_values(count);
    for (const Output& output : outputs_) {
      if (graph_[output.value].domain == Domain::kTensor && output.kind == Output::Kind::kSection) {
        made.tensor_stores.push_back(output);
      }
    }
    return made;
  }

 private:
  void mark_needed() {
    needed_.assign(graph_.values().size(), false);
    for (const Output& output : outputs_) needed_[output.value] = true;
    for (std::size_t id = graph_.values().size(); id-- > 0;) {
      if (!needed_[id]) continue;
      for (const ValueId argument : graph_[static_cast<ValueId>(id)].arguments) needed_[argument] = true;
    }
  }

  /// The tensor's values that are available for the first time when pass `pass` begins.
  std::vector<ValueId> tensor_values(std::size_t pass) const {
    std::vector<ValueId> values;
    for (ValueId id = 0; id < graph_.values().size(); ++id) {
      if (needed_[id] && graph_[id].domain == Domain::kTensor && pass_[id] == pass) values.push_back(id);
    }
    return values;
  }

  /// An output with one value for all elements, as of a codec that gives zeros, is stored in the last pass's loop.
  bool is_stored_in_loop(const Output& output) const {
    return graph_[output.value].domain != Domain::kTensor || output.kind != Output::Kind::kSection;
  }

  Pass make_pass(std::size_t pass) {
    Pass made;
    made.of_tensor = tensor_values(pass);
    // The pass computes its outputs and the operands of its reductions.
    std::vector<ValueId> targets;
    for (const Output& output : outputs_) {
      if (is_stored_in_loop(output) && pass_[output.value] == pass) targets.push_back(output.value);
    }
    for (ValueId id = 0; id < graph_.values().size(); ++id) {
      const bool ends_here = graph_[id].kind == Value::Kind::kReduce && pass_[id] == pass + 1;
      if (needed_[id] && ends_here) targets.push_back(graph_[id].arguments.front());
    }
    const Flags here = closure(targets);
    number_phases(here);
    for (ValueId id = 0; id < here.size(); ++id) {
      if (here[id]) place(id, made);
    }
    for (ValueId id = 0; id < graph_.values().size(); ++id) {
      const Value& value = graph_[id];
      if (!needed_[id] || value.kind != Value::Kind::kReduce || pass_[id] != pass + 1) continue;
      phase_of(made, phase_[value.arguments.front()]).reductions.push_back(id);
    }
    for (const Output& output : outputs_) {
      if (!is_stored_in_loop(output) || pass_[output.value] != pass) continue;
      const bool block = graph_[output.value].domain == Domain::kBlock;
      Phase& phase = phase_of(made, phase_[output.value]);
      (block ? phase.block_stores : phase.stores).push_back(output);
    }
    for (Phase& phase : made.phases) phase.elements = loop_of(phase);
    return made;
  }

  /// All operands of these values, direct and indirect, that are not of the tensor.
  Flags closure(const std::vector<ValueId>& targets) const {
    Flags in(graph_.values().size(), false);
    for (const ValueId id : targets) in[id] = graph_[id].domain != Domain::kTensor;
    for (std::size_t id = in.size(); id-- > 0;) {
      if (!in[id]) continue;
      for (const ValueId argument : graph_[static_cast<ValueId>(id)].arguments) {
        in[argument] = in[argument] || graph_[argument].domain != Domain::kTensor;
      }
    }
    return in;
  }

  void number_phases(const Flags& here) {
    phase_.assign(here.size(), 0);
    for (ValueId id = 0; id < here.size(); ++id) {
      if (!here[id]) continue;
      for (const ValueId argument : graph_[id].arguments) phase_[id] = std::max(phase_[id], phase_[argument]);
      if (graph_[id].kind == Value::Kind::kBlockReduce || is_kept_transform(id)) ++phase_[id];
    }
  }

  bool is_kept_transform(ValueId id) const { return keeps_transforms_ && graph_[id].kind == Value::Kind::kTransform; }

  static Phase& phase_of(Pass& pass, std::size_t index) {
    if (pass.phases.size() <= index) pass.phases.resize(index + 1);
    return pass.phases[index];
  }

  void place(ValueId id, Pass& pass) {
    const Value& value = graph_[id];
    if (value.kind == Value::Kind::kBlockReduce) phase_of(pass, phase_[id] - 1).reductions.push_back(id);
    if (is_kept_transform(id)) phase_of(pass, phase_[id] - 1).transforms.push_back(id);
    if (value.domain == Domain::kBlock) phase_of(pass, phase_[id]).of_block.push_back(id);
  }

  /// The elements that a phase's loop computes: all operands of its reductions and stores.
  std::vector<ValueId> loop_of(const Phase& phase) const {
    Flags in(graph_.values().size(), false);
    const auto want = [&](ValueId id) { in[id] = in[id] || graph_[id].domain == Domain::kElement; };
    for (const ValueId id : phase.reductions) {
      if (graph_[id].over == Domain::kElement) want(graph_[id].arguments.front());
    }
    for (const ValueId id : phase.transforms) want(graph_[id].arguments.front());
    for (const Output& output : phase.stores) want(output.value);
    for (std::size_t id = in.size(); id-- > 0;) {
      if (!in[id] || is_kept_transform(static_cast<ValueId>(id))) continue;
      for (const ValueId argument : graph_[static_cast<ValueId>(id)].arguments) want(argument);
    }
    std::vector<ValueId> elements;
    for (ValueId id = 0; id < in.size(); ++id) {
      if (in[id]) elements.push_back(id);
    }
    return elements;
  }

  const Graph& graph_;
  const std::vector<Output>& outputs_;
  const bool keeps_transforms_;
  std::vector<std::size_t> pass_;
  std::vector<std::size_t> phase_;  ///< within the pass being made
  Flags needed_;
};

}  // namespace

bool has_loop(const Phase& phase) {
  return !phase.elements.empty() || !phase.stores.empty() || !phase.reductions.empty() || !phase.transforms.empty();
}

bool is_kept(const Output& output) {
  return output.kind == Output::Kind::kResidual || output.kind == Output::Kind::kState;
}

bool is_for_kept(const Phase& phase) {
  return phase.reductions.empty() && phase.transforms.empty() &&
         std::all_of(phase.stores.begin(), phase.stores.end(), is_kept);
}

bool is_for_kept(const Pass& pass) { return !has_blocks(pass) && is_for_kept(pass.phases.front()); }

bool has_blocks(const Pass& pass) { return pass.phases.size() > 1 || !pass.phases.front().of_block.empty(); }

std::size_t longest_loop(const Pass& pass) {
  const auto length = [](const Phase& phase) {
    return phase.elements.size() + phase.reductions.size() + phase.stores.size();
  };
  std::size_t longest = 0;
  for (std::size_t i = 1; i < pass.phases.size(); ++i) {
    if (length(pass.phases[i]) >= length(pass.phases[longest])) longest = i;
  }
  return longest;
}

Schedule schedule(const Graph& graph, const std::vector<Output>& outputs, Transforms transforms) {
  return Scheduler(graph, outputs, transforms).run();
}

}  // namespace casync::compll
