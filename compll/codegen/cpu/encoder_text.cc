// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/encoder_text.h"

#include "compll/codegen/cpu/encoder_loops.h"
#include "compll/codegen/text/operation_text.h"

namespace casync::compll {
namespace {

/// Writes struct Tensor, and a function for each pass of encode or merge.
class EncoderText : EncoderLoops {
 public:
  EncoderText(const CpuEncoder& plan, Writer& out) : EncoderLoops(plan, out) {}

  void write() {
    write_functions();
    write_tensor();
    for (std::size_t pass = 0; pass < plan_.passes.size(); ++pass) write_pass(pass);
    write_end();
  }

 private:
  void write_pass(std::size_t number) {
    const CpuPass& pass = plan_.passes[number];
    if (!pass.handed_on.empty()) write_block_struct(number);
    out_.forget_line();
    if (!pass.has_blocks) out_.line("template <class Input>");
    out_.open("HWY_INLINE bool pass_" + std::to_string(number) + "(const GeneratedTile& tile, Tensor& tensor, const " +
              (pass.has_blocks ? "Scaled& source, float* scratch," : "Input& input,") +
              "\n    std::byte* const* sections, float* residual, Write mode)");
    write_begin(pass);
    if (pass.has_blocks) {
      write_blocks(number);
    } else {
      const CpuLoop& loop = pass.loops.front();
      if (loop.waits) out_.open("if (" + keeps_any() + ")");
      write_loop(pass, loop, {"0", "tile.count", "input.load(i, rest)", "", "kFetchFloatsAhead / sizeof(float)"});
      if (loop.waits) out_.close();
    }
    for (const ValueId id : pass.reductions) out_.line("tensor." + text_.name(id) + " = " + reduced(id) + ";");
    for (std::uint32_t i = 0; i < program_.sections.size(); ++i) {
      out_.line("static_cast<void>(" + sections_.name(i) + ");");
    }
    out_.line("static_cast<void>(tensor), static_cast<void>(residual), static_cast<void>(mode);");
    out_.line("return " + is_finite(pass) + ";");
    out_.close();
    out_.line("");
  }

  /// Writes what the loops of a pass use.
  void write_begin(const CpuPass& pass) {
    for (std::uint32_t i = 0; i < program_.sections.size(); ++i) {
      out_.line("std::byte* const " + sections_.name(i) + " = sections[" + std::to_string(i) + "];");
    }
    define_states(plan_.encode->states.size());
    define_tensor_values(pass.of_tensor);
    define_random(pass.random);
    for (const std::uint32_t index : pass.packed) {
      out_.line("PackedSection<" + std::to_string(element(index).bits) + "> " + sections_.packed(index) + "(" +
                sections_.name(index) + ");");
    }
    for (const ValueId id : pass.reductions) {
      out_.line(reducer(id) + " " + reduced(id) + " = tensor." + text_.name(id) + ";");
    }
    if (pass.check == CpuCheck::kBlocks) out_.line("bool finite = true;");
    if (pass.check == CpuCheck::kOwn) out_.line("Magnitude top;  // of everything: says whether all is finite");
  }

  std::string is_finite(const CpuPass& pass) const {
    switch (pass.check) {
      case CpuCheck::kNone: return "true";
      case CpuCheck::kBlocks: return "finite";
      case CpuCheck::kOwn: return finite_text(program_, "top.result()");
      case CpuCheck::kReduction: break;
    }
    return finite_text(program_, reduced(*plan_.top) + ".result()");
  }

  void write_block_struct(std::size_t pass) {
    out_.line("/// What is known of a block when its elements are gone through again.");
    out_.open("struct Block" + std::to_string(pass));
    for (const ValueId id : plan_.passes[pass].handed_on) {
      out_.line(ExpressionText::type(graph_[id].type, false) + " " + text_.name(id) + ";");
    }
    out_.close(";");
    out_.line("");
  }

  void write_blocks(std::size_t number) {
    const CpuPass& pass = plan_.passes[number];
    out_.line("const size_t block = " + block_size() + ";");
    out_.line("const Ahead ahead(source, tile.count, scratch);");
    for (std::size_t i = 0; i < pass.arrays; ++i) {
      out_.line("float* const " + rotated(i) + " = rotated_array(scratch, tile.count, " + std::to_string(i) + ");");
    }
    if (!pass.handed_on.empty()) out_.line("Block" + std::to_string(number) + " blocks[kBlocksTogether];");
    for (const ValueId id : pass.block_reductions) write_chunks(id, reduced(id));
    out_.open(
        "for (size_t first = 0, entry = 0; first < tile.count; first += kBlocksTogether * block, entry += "
        "kBlocksTogether)");
    out_.line("const size_t last = std::min(first + kBlocksTogether * block, tile.count);");
    out_.line("const float* const input = gather(source.from(first), last - first, scratch + first) - first;");
    for (const CpuLoop& loop : pass.loops) write_block_loop(pass, loop);
    out_.close();
  }

  void write_block_loop(const CpuPass& pass, const CpuLoop& loop) {
    if (loop.waits) out_.open("if (" + keeps_any() + ")");
    out_.open("for (size_t b = first, k = 0; b < last; b += block, ++k)");
    out_.line("const size_t end = std::min(b + block, last);");
    for (const ValueId id : loop.loads) {
      out_.line("const " + ExpressionText::type(graph_[id].type, false) + " " + text_.name(id) + " = blocks[k]." +
                text_.name(id) + ";");
    }
    write_of_block(pass, loop.ahead);
    for (const ValueId id : loop.reductions) {
      if (graph_[id].kind == Value::Kind::kBlockReduce) out_.line(reducer(id) + " " + reduced(id) + ";");
    }
    write_loop(pass, loop,
               {"b", "end", "load_floats(input + i)", loop.is_longest ? "ahead.fetch_line(i);" : "",
                loop.is_longest ? "tile.count" : ""});
    write_of_block(pass, loop.after);
    for (const ValueId id : loop.saves) out_.line("blocks[k]." + text_.name(id) + " = " + text_.name(id) + ";");
    out_.close();
    write_rotations(pass, loop);
    if (loop.waits) out_.close();
    out_.forget_line();
  }

  std::string keeps_any() const {
    if (!plan_.encode->residual) return "keeps_states";
    return plan_.encode->states.empty() ? "residual != nullptr" : "residual != nullptr || keeps_states";
  }

  /// Writes the transforms, once the operands of all blocks that are worked on together are there.
  void write_rotations(const CpuPass& pass, const CpuLoop& loop) {
    for (const ValueId id : loop.transforms) {
      if (!plan_.always[id]) out_.open("if (residual != nullptr)");
      out_.line("rotate_blocks(" + rotated(pass.array_of.at(id)) + " + first, last - first, " +
                rotated_size(graph_[id]) + ");");
      if (!plan_.always[id]) out_.close();
    }
  }

  void write_of_block(const CpuPass& pass, const CpuBlockValues& block) {
    for (const ValueId id : block.values) {
      const Value& value = graph_[id];
      if (value.kind == Value::Kind::kBlockReduce && plan_.reductions.at(id).counts_all)
        define(id, "static_cast<uint32_t>(end - b)");
      else if (value.kind == Value::Kind::kBlockReduce)
        write_block_result(id);
      else if (value.kind == Value::Kind::kIndex)
        define(id, "static_cast<" + ExpressionText::type(value.type, false) + ">(tile.first / block + entry + k)");
      else
        define(id, text_.definition(id));
      if (pass.check == CpuCheck::kBlocks && plan_.top == id)
        out_.line("finite &= " + finite_text(program_, text_.name(id)) + ";");
    }
    for (const Output& output : block.stores) {
      out_.line(SectionText::store_one(element(output.index), text_.use(output.value, false),
                                       sections_.name(output.index) + ", entry + k"));
    }
  }

  /// Writes the end of the last pass: sections with one entry for the tensor.
  void write_end() {
    out_.open("HWY_INLINE void end(const GeneratedTile& tile, Tensor& tensor, std::byte* const* sections)");
    define_tensor_values(plan_.at_end);
    for (const Output& output : plan_.end_stores) {
      out_.line(SectionText::store_one(element(output.index), text_.use(output.value, false),
                                       "sections[" + std::to_string(output.index) + "], 0"));
    }
    out_.line("static_cast<void>(tile), static_cast<void>(tensor), static_cast<void>(sections);");
    out_.close();
    out_.line("");
  }
};

}  // namespace

void write_encoder(const CpuEncoder& plan, Writer& out) { EncoderText(plan, out).write(); }

}  // namespace casync::compll
