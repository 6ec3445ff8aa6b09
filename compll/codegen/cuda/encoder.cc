// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/encoder.h"

#include <algorithm>

#include "compll/codegen/cuda/loops.h"
#include "compll/codegen/cuda/terms.h"
#include "compll/codegen/text/operation_text.h"

namespace casync::compll {
namespace {

class CudaEncoderText : CudaLoops {
 public:
  CudaEncoderText(const CudaEncoder& plan, Writer& out) : CudaLoops(plan, out) {}

  /// Writes a struct of this name.
  void write(const std::string& name) {
    out_.open("struct " + name);
    write_functions();
    write_constants();
    if (plan_.shape.statistics) write_passes("statistics", 0, plan_.statistics);
    write_passes("encode", plan_.statistics, plan_.passes.size());
    write_end();
    out_.close(";");
    out_.line("");
  }

 private:
  /// The functions that the program reduces by.
  void write_functions() {
    for (std::size_t i = 0; i < plan_.functions.size(); ++i) {
      const Graph& function = *plan_.functions[i].values.of.graph;
      const CudaExpression text(plan_.functions[i].values);
      const std::string type = type_text(function[0].type);
      out_.open("struct Function" + std::to_string(i));
      out_.open("COMPLL_BOTH " + type + " operator()(" + type + " " + text.name(0) + ", " + type + " " + text.name(1) +
                ") const");
      for (const ValueId id : plan_.functions[i].lines) {
        out_.source_line(function[id].at);
        out_.line("const " + type_text(function[id].type) + " " + text.name(id) + " = " + text.definition(id) + ";");
      }
      out_.line("return " + text.bare(graph_.functions()[i].result) + ";");
      out_.close();
      out_.close(";");
      out_.line("");
      out_.forget_line();
    }
  }

  void write_constants() {
    const auto flag = [](bool value) { return value ? "true" : "false"; };
    out_.line("static constexpr uint32_t kNumber = " + std::to_string(program_.declares.number) +
              ", kVersion = " + std::to_string(program_.declares.version) + ";");
    out_.line("static constexpr uint32_t kOverflow = " + overflow_bits_text(program_) + ";");
    out_.line("static constexpr uint32_t kSlots = " + std::to_string(plan_.shape.slots) +
              ", kStates = " + std::to_string(program_.states.size()) + ";");
    out_.line(std::string("static constexpr bool kHasBlocks = ") + flag(plan_.shape.has_blocks) + ", kOrdered = " +
              flag(plan_.shape.ordered) + ", kSecondForKept = " + flag(plan_.shape.second_for_kept) + ";");
    const bool sends_blocks =
        std::any_of(program_.sections.begin(), program_.sections.end(), [](const Section& section) {
          return section.type.extent && section.type.extent->kind == Extent::Kind::kBlocks;
        });
    out_.line(std::string("static constexpr bool kSendsBlocks = ") + flag(sends_blocks) + ";");
    out_.line("using Decoder = codec::Decoder;");
    out_.line("");
  }

  void write_passes(const std::string& function, std::size_t begin, std::size_t end) {
    out_.forget_line();
    out_.line("template <class Work, class Source>");
    out_.open("__device__ __forceinline__ static void " + function +
              "([[maybe_unused]] Work& work, [[maybe_unused]] const Source& source)");
    for (std::size_t pass = begin; pass < end; ++pass) {
      if (end - begin > 1) out_.open("");
      write_pass(plan_.passes[pass]);
      if (end - begin > 1) out_.close();
      out_.forget_line();
    }
    out_.close();
    out_.line("");
  }

  /// Writes the function that stores the tensor's entries.
  void write_end() {
    out_.line("template <class Work>");
    out_.open("__device__ __forceinline__ static void end(const Work& work)");
    write_preamble(plan_.end);
    for (const Output& output : plan_.end.stores) {
      out_.line("store_one<" + entry_bits(output.index) + ">(" + text_.bare(output.value) + ", " +
                section(output.index) + ", 0);");
    }
    out_.line("Sections(n, settings.log2_block).clear_gaps(work.segment.payload);");
    out_.close();
    out_.forget_line();
  }
};

}  // namespace

void write_cuda_encoders(const CudaTiles& plan, Writer& out) {
  CudaEncoderText(plan.encoder, out).write("Codec");
  if (plan.merge) CudaEncoderText(*plan.merge, out).write("CodecOfSums");
}

}  // namespace casync::compll
