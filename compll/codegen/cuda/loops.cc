// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/loops.h"

#include "compll/codegen/cuda/reducer.h"
#include "compll/codegen/text/operation_text.h"
#include "compll/ir/tiles/cuda/reductions.h"

namespace casync::compll {

void CudaLoops::write_pass(const CudaPass& pass) {
  write_preamble(pass.preamble);
  write_random(pass);
  write_hadamards();
  for (const ValueId id : pass.reductions) out_.line(cuda_reducer(graph_, graph_[id]) + " " + reducer(id) + ";");
  out_.open("for (uint64_t first = work.begin; first < work.end; first = work.behind(first))");
  out_.line("const uint32_t size = work.size_at(first);");
  if (plan_.shape.has_blocks) out_.line("[[maybe_unused]] const uint64_t entry = work.block_at(first);");
  for (const ValueId id : pass.kept) out_.line(quad_type(id) + kept(id) + " = {};");
  for (std::size_t i = 0; i < pass.phases.size(); ++i) write_phase(pass.phases[i], i == 0);
  out_.close();
  write_tensor_results(pass);
}

/// Writes the sources of random numbers.
void CudaLoops::write_random(const CudaPass& pass) {
  if (pass.draws) out_.line("const RandomStream random = work.random();");
  for (const ValueId id : pass.random) {
    out_.line("[[maybe_unused]] RandomQuads random" + std::to_string(id) + "(random, " +
              std::to_string(graph_[id].purpose) + ");");
  }
}

void CudaLoops::write_preamble(const CudaPreamble& preamble) {
  out_.line("[[maybe_unused]] const Settings& settings = work.launch.codec;");
  out_.line("[[maybe_unused]] const uint64_t n = work.segment.n;");
  if (!preamble.stores.empty()) out_.line("const Sections at(n, settings.log2_block);");
  for (const Output& output : preamble.stores) {
    out_.line("unsigned char* const " + section(output.index) + " = in_global(work.segment.payload) + at." +
              section_word(program_, output.index) + ";");
  }
  for (const ValueId id : preamble.values) {
    const Value& value = graph_[id];
    switch (value.kind) {
      case Value::Kind::kParameter: define(id, parameter(value)); break;
      case Value::Kind::kCount: define(id, count(value)); break;
      case Value::Kind::kReduce: {
        const std::string word = "load_slot(work.slots + " + std::to_string(plan_.slots.at(id)) + ")";
        define(id, cuda_reducer(graph_, value) + "::value_of(" + word + ")");
        break;
      }
      default: define(id, text_.definition(id)); break;
    }
  }
}

void CudaLoops::write_phase(const CudaPhase& phase, bool first) {
  write_block_values(phase);
  if (!phase.has_loop) return;
  for (const ValueId id : phase.block_reductions) {
    out_.line(cuda_reducer(graph_, graph_[id]) + " " + reducer(id) + ";");
  }
  out_.open("for (uint32_t at_piece = 0; at_piece < size; at_piece += kPiece)");
  out_.line(std::string("const Piece piece = work.") + (first ? "load" : "again") + "(source, first, at_piece, size);");
  if (phase.quads) write_quads(*phase.quads);
  if (phase.lanes) write_lanes(*phase.lanes);
  out_.close();
  out_.forget_line();
}

std::string CudaLoops::holds(const Condition& condition) const {
  return (condition.holds ? "" : "!") + text_.use(condition.value);
}

/// A reduction's result: `.result()`, with the initial value of a reduction by a function.
std::string CudaLoops::result_of(ValueId id) const {
  const Value& value = graph_[id];
  if (!is_ordered(graph_, value)) return "of_block(" + reducer(id) + ", settings.block)";
  return reducer(id) + ".result(" + (value.arguments.size() > 1 ? text_.bare(value.arguments[1]) : "") + ")";
}

void CudaLoops::write_block_values(const CudaPhase& phase) {
  for (const ValueId id : phase.of_block) {
    const Value& value = graph_[id];
    if (value.kind == Value::Kind::kBlockReduce) {
      const std::optional<Condition>& condition = plan_.conditions[id];
      define(id, condition ? holds(*condition) + " ? " + result_of(id) + " : " + type_text(value.type) + "()"
                           : result_of(id));
    } else if (value.kind == Value::Kind::kIndex) {
      define(id, type_text(value.type) + "(entry)");
    } else if (is_random(value)) {
      const std::string drawn = "random_bits(random, entry, " + std::to_string(value.purpose) + ")";
      define(id, random(value, drawn));
    } else {
      define(id, text_.definition(id));
    }
  }
  if (phase.block_stores.empty()) return;
  out_.open("if (work.begins_block(size))");
  for (const Output& output : phase.block_stores) {
    out_.line("store_one<" + entry_bits(output.index) + ">(" + text_.bare(output.value) + ", " + section(output.index) +
              ", entry);");
  }
  out_.close();
}

/// Writes a value of the loop's element.
void CudaLoops::write_element(ValueId id, Loop loop) {
  const Value& value = graph_[id];
  const bool quads = loop == Loop::kQuads;
  if (value.kind == Value::Kind::kInput) {
    define(id, quads ? "x[k]" : "work.kept[j]");
  } else if (value.kind == Value::Kind::kState) {
    const std::string index = std::to_string(value.state);
    define(id, quads ? state(value.state) + "[k]" : "work.state_at(" + index + ", i)");
  } else if (value.kind == Value::Kind::kIndex) {
    define(id, type_text(value.type) + (quads ? "(i + k)" : "(i)"));
  } else if (value.kind == Value::Kind::kTransform || plan_.of_places.contains(id)) {
    define(id, rotated_element(id));
  } else if (is_random(value)) {
    const std::string drawn =
        quads ? "drawn" + std::to_string(id) + "[k]" : "random_bits(random, i, " + std::to_string(value.purpose) + ")";
    define(id, random(value, drawn));
  } else {
    define(id, text_.definition(id));
  }
}

void CudaLoops::write_lanes(const CudaLanes& loop) {
  out_.forget_line();
  if (loop.condition) out_.open("if (" + holds(*loop.condition) + ")");
  out_.line("__syncwarp();");
  if (loop.are_sums) {
    write_lane_sums(loop);
  } else {
    write_lane_loop(loop, "");
  }
  for (const ValueId id : loop.reductions) out_.line("if (piece.ends_chunk()) " + reducer(id) + ".end_chunk();");
  out_.line("__syncwarp();");
  if (loop.condition) out_.close();
}

/// Writes sums that do not check for NaN after each addition; if the result is NaN, they are computed again, exactly.
void CudaLoops::write_lane_sums(const CudaLanes& loop) {
  std::string any;
  for (const ValueId id : loop.reductions) {
    out_.line("const LaneSum " + reducer(id) + "_before = " + reducer(id) + ";");
    any += (any.empty() ? "" : " || ") + reducer(id) + ".is_nan()";
  }
  out_.open("const auto in_lanes = [&](auto numbers)");
  text_.write_seen_as("numbers.");
  write_lane_loop(loop, "numbers, ");
  text_.write_seen_as("");
  out_.close(";");
  out_.line("in_lanes(Plain());");
  out_.open("if (__any_sync(kWholeWarp, " + any + "))");
  for (const ValueId id : loop.reductions) out_.line(reducer(id) + " = " + reducer(id) + "_before;");
  out_.line("in_lanes(Exact());");
  out_.close();
}

void CudaLoops::write_lane_loop(const CudaLanes& loop, const std::string& numbers) {
  out_.open("for (uint32_t j = work.lane % kReductionLanes; j < piece.size; j += kReductionLanes)");
  out_.line("[[maybe_unused]] const uint64_t i = piece.first + j;");
  for (const ValueId id : loop.elements) write_element(id, Loop::kLanes);
  for (const ValueId id : loop.reductions) {
    out_.line(reducer(id) + ".take(" + numbers + text_.bare(graph_[id].arguments.front()) + ");");
  }
  out_.close();
}

/// Writes the end of a pass: the results of its reductions go to the workspace.
void CudaLoops::write_tensor_results(const CudaPass& pass) {
  for (const ValueId id : pass.reductions) {
    out_.line("join_tensor(" + reducer(id) + ", work.slots + " + std::to_string(plan_.slots.at(id)) + ");");
  }
}

}  // namespace casync::compll
