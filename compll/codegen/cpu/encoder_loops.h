// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compll/codegen/cpu/reduction_text.h"
#include "compll/codegen/cpu/transform_arrays.h"
#include "compll/ir/tiles/outputs.h"

namespace casync::compll {

/// The loops over elements of encode or merge: the values that each computes, stores and keeps.
class EncoderLoops : protected ReductionText {
 public:
  EncoderLoops(const Program& program, const EncodeGraph& encode, const Lowered& lowered, Writer& out,
               Diagnostics& diagnostics)
      : ReductionText(program, encode.graph, values_of(outputs_of(encode)), lowered, out, diagnostics),
        encode_(encode),
        plan_(schedule(graph_, outputs_of(encode), Transforms::kKept)),
        always_(always_needed()) {}

 protected:
  /// A loop over elements: begin and end, the text that loads sixteen of the input, a line that fetches ahead, and the
  /// distance at which states are fetched.
  struct Loop {
    std::string begin, end, input, fetch, states_ahead;
    bool top = false;  ///< takes the largest magnitude of all elements
  };

  /// Writes a loop. The first loop of a pass goes through every element of the input, used or not: all have to be
  /// finite.
  void write_loop(const Phase& phase, const Loop& loop) {
    const ValueId input = encode_.input;
    out_.open("for_fours(" + loop.begin + ", " + loop.end + ", [&](size_t i, auto rest) COMPLL_INLINE");
    if (loop.top || std::find(phase.elements.begin(), phase.elements.end(), input) != phase.elements.end()) {
      define(input, loop.input);
    }
    if (loop.top) out_.line("top.take(" + text_.name(input) + ", rest);");
    if (!loop.fetch.empty()) out_.line(loop.fetch);
    for (const Output& output : phase.stores) {
      if (output.kind != Output::Kind::kSection) continue;
      out_.line(fetch(element(output), section(output.index)));
    }
    for (const ValueId id : phase.elements) {
      if (loop.states_ahead.empty() || graph_[id].kind != Value::Kind::kState) continue;
      out_.line("fetch_state(" + state(graph_[id].state) + ", i + " + loop.states_ahead + ");");
    }
    const std::vector<bool> always = needed_without_kept(phase);
    for (const ValueId id : phase.elements) {
      if (always[id]) define_element(id);
    }
    for (const ValueId id : phase.reductions) {
      const Value& value = graph_[id];
      if (value.kind == Value::Kind::kBlockReduce && is_count_of_all(id)) continue;
      write_take(id);
    }
    for (const Output& output : phase.stores) {
      if (output.kind != Output::Kind::kSection) continue;
      out_.line(store_group(element(output), text_.use(written_as(output), true), output.index));
    }
    write_residual(phase, always);
    write_states(phase, always);
    // Transforms' operands are stored last: their memory may be that of a transform which this loop reads.
    for (const ValueId id : phase.transforms) {
      if (always_[id]) write_taken(id);
    }
    out_.line("static_cast<void>(rest);");
    out_.close(");");
  }

  /// Writes the part of a loop that runs only if a residual is kept.
  void write_residual(const Phase& phase, const std::vector<bool>& always) {
    const auto is_residual = [](const Output& output) { return output.kind == Output::Kind::kResidual; };
    const auto stored = std::find_if(phase.stores.begin(), phase.stores.end(), is_residual);
    const bool all_always =
        std::all_of(phase.transforms.begin(), phase.transforms.end(), [&](ValueId id) { return always_[id]; });
    if (stored == phase.stores.end() && all_always) return;
    std::vector<bool> needed(graph_.values().size(), false);
    if (stored != phase.stores.end()) needed[stored->value] = true;
    for (const ValueId id : phase.transforms) needed[graph_[id].arguments.front()] = true;
    out_.open("if (residual != nullptr)");
    define_elements(phase, std::move(needed), always);
    if (stored != phase.stores.end()) {
      out_.line("write_kept(" + text_.use(stored->value, true) + ", residual, i, rest, mode);");
    }
    for (const ValueId id : phase.transforms) {
      if (!always_[id]) write_taken(id);
    }
    out_.close();
  }

  /// Writes the stores of the new states, if they are wanted.
  void write_states(const Phase& phase, const std::vector<bool>& always) {
    std::vector<bool> needed(graph_.values().size(), false);
    std::vector<Output> stored;
    for (const Output& output : phase.stores) {
      if (output.kind != Output::Kind::kState) continue;
      needed[output.value] = true;
      stored.push_back(output);
    }
    if (stored.empty()) return;
    out_.open("if (keeps_states)");
    define_elements(phase, std::move(needed), always);
    for (const Output& output : stored) out_.line(store_state(output));
    out_.close();
  }

  /// Defines the elements of a loop that these need, except for those in `there`.
  void define_elements(const Phase& phase, std::vector<bool> needed, const std::vector<bool>& there) {
    needed = below(std::move(needed));
    for (const ValueId id : phase.elements) {
      if (needed[id] && !there[id]) define_element(id);
    }
  }

  /// Stores a transform's operand.
  void write_taken(ValueId id) {
    out_.line("store_floats(" + text_.use(graph_[id].arguments.front(), true) + ", " + arrays_->of(id) + " + i);");
  }

  void define_element(ValueId id) {
    const Value& value = graph_[id];
    check_element(value);
    if (id == encode_.input || !text_.has_line(id)) return;
    if (text_.uses(id) == 0 && as_bool(id) != id && !is_stored(id)) return;
    if (value.kind == Value::Kind::kIndex)
      define(id, index(value));
    else if (value.kind == Value::Kind::kState)
      define(id, load_state(value));
    else if (value.kind == Value::Kind::kTransform)
      define(id, "load_floats(" + arrays_->of(id) + " + i)");
    else if (is_random(value))
      define(id, random(value, "random" + std::to_string(id)));
    else
      define(id, text_.definition(id));
  }

  /// The values that a loop computes even if nothing is kept.
  std::vector<bool> needed_without_kept(const Phase& phase) const {
    std::vector<bool> needed(graph_.values().size(), false);
    for (const ValueId id : phase.reductions) needed[graph_[id].arguments.front()] = true;
    for (const ValueId id : phase.transforms) {
      if (always_[id]) needed[graph_[id].arguments.front()] = true;
    }
    for (const Output& output : phase.stores) {
      if (output.kind == Output::Kind::kSection) needed[output.value] = true;
    }
    return below(needed);
  }

  ScalarType element(const Output& output) const { return program_.sections[output.index].type.element; }

  /// The value that is stored: for a single bit the condition it comes from.
  ValueId written_as(const Output& output) const {
    const bool bit = output.kind == Output::Kind::kSection && graph_[output.value].domain == Domain::kElement &&
                     program_.sections[output.index].type.element.bits == 1;
    return bit ? as_bool(output.value) : output.value;
  }

  const EncodeGraph& encode_;
  Schedule plan_;
  std::optional<TransformArrays> arrays_;  ///< arrays of the pass with blocks that is being written
  const std::vector<bool> always_;         ///< values needed even if no residual is kept

 private:
  /// Returns true if a section holds the value itself; a section of one bit holds the condition that it comes from.
  bool is_stored(ValueId id) const {
    for (std::size_t i = 0; i < encode_.sections.size(); ++i) {
      if (encode_.sections[i] == id && program_.sections[i].type.element.bits != 1) return true;
    }
    return false;
  }
  /// The values that sections, states and reductions are made of.
  std::vector<bool> always_needed() const {
    std::vector<bool> needed(graph_.values().size(), false);
    for (const ValueId id : encode_.sections) needed[id] = true;
    for (const ValueId id : encode_.states) needed[id] = true;
    for (const Pass& pass : plan_.passes) {
      for (const Phase& phase : pass.phases) {
        for (const ValueId id : phase.reductions) needed[id] = true;
      }
    }
    return below(needed);
  }
};

}  // namespace casync::compll
