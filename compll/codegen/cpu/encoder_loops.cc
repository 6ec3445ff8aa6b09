// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/encoder_loops.h"

namespace casync::compll {

void EncoderLoops::write_loop(const CpuPass& pass, const CpuLoop& loop, const Range& range) {
  const ValueId input = plan_.encode->input;
  out_.open("for_fours(" + range.begin + ", " + range.end + ", [&](size_t i, auto rest) COMPLL_INLINE");
  if (loop.loads_input) define(input, range.input);
  if (loop.takes_top) out_.line("top.take(" + text_.name(input) + ", rest);");
  write_fetches(loop, range);
  define_elements(pass, loop.elements);
  for (const ValueId id : loop.reductions) write_take(id);
  for (const CpuStore& store : loop.sections) {
    out_.line(sections_.store_group(element(store.section), text_.use(store.value, true), store.section));
  }
  // Transforms' operands are stored last, also those that only the residual needs: their memory may be that of a
  // transform which this loop reads.
  if (loop.states_then) write_states(pass, *loop.states_then);
  if (loop.residual) write_residual(pass, loop);
  for (const ValueId id : loop.transforms) {
    if (plan_.always[id]) write_taken(pass, id);
  }
  out_.line("static_cast<void>(rest);");
  out_.close(");");
}

void EncoderLoops::write_fetches(const CpuLoop& loop, const Range& range) {
  if (!range.fetch.empty()) out_.line(range.fetch);
  for (const CpuStore& store : loop.sections) {
    out_.line(SectionText::fetch(element(store.section), sections_.name(store.section)));
  }
  if (range.states_ahead.empty()) return;
  for (const ValueId id : loop.states) {
    out_.line("fetch_state(" + state(graph_[id].state) + ", i + " + range.states_ahead + ");");
  }
}

/// Writes the part of a loop that runs only if a residual is kept.
void EncoderLoops::write_residual(const CpuPass& pass, const CpuLoop& loop) {
  out_.open("if (residual != nullptr)");
  define_elements(pass, loop.residual->elements);
  for (const Output& output : loop.residual->stores) {
    out_.line("write_kept(" + text_.use(output.value, true) + ", residual, i, rest, mode);");
  }
  for (const ValueId id : loop.transforms) {
    if (!plan_.always[id]) write_taken(pass, id);
  }
  out_.close();
}

/// Writes the stores of the new states, if they are wanted.
void EncoderLoops::write_states(const CpuPass& pass, const CpuKept& states) {
  out_.open("if (keeps_states)");
  define_elements(pass, states.elements);
  for (const Output& output : states.stores) out_.line(store_state(output));
  out_.close();
}

void EncoderLoops::write_taken(const CpuPass& pass, ValueId id) {
  out_.line("store_floats(" + text_.use(graph_[id].arguments.front(), true) + ", " + rotated(pass.array_of.at(id)) +
            " + i);");
}

void EncoderLoops::define_elements(const CpuPass& pass, const std::vector<ValueId>& ids) {
  for (const ValueId id : ids) {
    const Value& value = graph_[id];
    if (value.kind == Value::Kind::kIndex)
      define(id, index(value));
    else if (value.kind == Value::Kind::kState)
      define(id, load_state(value));
    else if (value.kind == Value::Kind::kTransform)
      define(id, "load_floats(" + rotated(pass.array_of.at(id)) + " + i)");
    else if (is_random(value))
      define(id, random(value, "random" + std::to_string(id)));
    else
      define(id, text_.definition(id));
  }
}

}  // namespace casync::compll
