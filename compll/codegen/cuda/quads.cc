// SPDX-License-Identifier: Apache-2.0
//
// Loops over four neighbours for each thread.
#include "compll/codegen/cuda/loops.h"

namespace casync::compll {

void CudaLoops::write_quads(const CudaQuads& loop) {
  out_.open("for (uint32_t row = 0; row < piece.size; row += kRow)");
  out_.line("const uint32_t j = row + 4 * work.lane, rest = work.rest(piece, j);");
  out_.line("[[maybe_unused]] const uint64_t i = piece.first + j;");
  out_.line("const Quad<float> x = work.quad(j);");
  for (const ValueId id : loop.states) {
    const std::uint32_t index = graph_[id].state;
    out_.line("[[maybe_unused]] const Quad<float> " + state(index) + " = work.state(" + std::to_string(index) +
              ", i, rest);");
  }
  for (const Output& output : loop.stores) {
    if (output.kind == Output::Kind::kState) out_.line("Quad<float> " + state_then(output.index) + ";");
    if (output.kind == Output::Kind::kSection)
      out_.line("Quad<uint32_t> " + section_word(program_, output.index) + "_codes;");
  }
  if (loop.residual) {
    out_.line("Quad<float> kept_back;");
    out_.line("const bool keeps_back = work.residual_out != nullptr;");
  }
  write_quad_body(loop);
  if (loop.residual && loop.residual->rotates) write_rotated_residual(*loop.residual);
  for (const Output& output : loop.stores) {
    if (output.kind != Output::Kind::kSection) continue;
    out_.line("store_quad<" + entry_bits(output.index) + ">(" + section_word(program_, output.index) + "_codes, " +
              section(output.index) + ", i, rest);");
  }
  if (loop.residual) out_.line("if (keeps_back) work.keep_back(kept_back, i, rest);");
  for (const Output& output : loop.stores) {
    if (output.kind != Output::Kind::kState) continue;
    out_.line("work.keep_state(" + std::to_string(output.index) + ", " + state_then(output.index) + ", i, rest);");
  }
  out_.close();
}

void CudaLoops::write_quad_body(const CudaQuads& loop) {
  for (const ValueId id : loop.drawn) {
    out_.line("const Quad<uint32_t> drawn" + std::to_string(id) + " = random" + std::to_string(id) + ".quad(i);");
  }
  for (const CudaAhead& ahead : loop.ahead) write_own_ahead(ahead);
  out_.line("#pragma unroll");
  out_.open("for (uint32_t k = 0; k < 4; ++k)");
  for (const ValueId id : loop.elements) write_element(id, Loop::kQuads);
  for (const Output& output : loop.stores) {
    if (output.kind == Output::Kind::kSection) {
      out_.line(section_word(program_, output.index) + "_codes[k] = code_of(" + text_.bare(output.value) + ");");
    } else if (output.kind == Output::Kind::kState) {
      out_.line(state_then(output.index) + "[k] = " + text_.bare(output.value) + ";");
    }
  }
  for (const ValueId id : loop.reductions) {
    out_.line("if (k < rest) " + reducer(id) + ".take(" + text_.bare(graph_[id].arguments.front()) + ");");
  }
  if (const auto& residual = loop.residual; residual && !residual->rotates) {
    if (residual->asks) out_.open("if (keeps_back)");
    for (const ValueId id : residual->elements) write_element(id, Loop::kQuads);
    out_.line("kept_back[k] = " + text_.bare(residual->value) + ";");
    if (residual->asks) out_.close();
  }
  out_.close();
}

/// Writes a value ahead of a loop. If the unit is one row, a value that an earlier loop has kept is still there.
void CudaLoops::write_own_ahead(const CudaAhead& ahead) {
  out_.line(quad_type(ahead.id) + rotated(ahead.id) + (ahead.is_kept ? " = " + kept(ahead.id) : "") + ";");
  if (ahead.is_kept) out_.open("if (size > kRow)");
  write_ahead(ahead, "Exact()", [&](ValueId each) { write_element(each, Loop::kQuads); });
  if (ahead.is_kept) out_.close();
  if (ahead.keeps) out_.line(kept(ahead.id) + " = " + rotated(ahead.id) + ";");
}

/// Writes the residual with the GPU's own NaN first: if the result has one, it is computed again, exactly.
void CudaLoops::write_rotated_residual(const CudaResidual& residual) {
  if (residual.asks) out_.open("if (keeps_back)");
  out_.open("const auto residual = [&]([[maybe_unused]] auto numbers)");
  out_.line("Quad<float> left;");
  text_.write_seen_as("numbers.");
  for (const CudaAhead& ahead : residual.ahead) {
    out_.line(quad_type(ahead.id) + rotated(ahead.id) + ";");
    write_ahead(ahead, "numbers", [&](ValueId id) { write_element(id, Loop::kQuads); });
  }
  out_.line("#pragma unroll");
  out_.open("for (uint32_t k = 0; k < 4; ++k)");
  for (const ValueId id : residual.elements) write_element(id, Loop::kQuads);
  out_.line("left[k] = " + text_.bare(residual.value) + ";");
  out_.close();
  text_.write_seen_as("");
  out_.line("return left;");
  out_.close(";");
  out_.line("kept_back = residual(Plain());");
  out_.line("if (__any_sync(kWholeWarp, has_nan(kept_back))) kept_back = residual(Exact());");
  if (residual.asks) out_.close();
}

}  // namespace casync::compll
