// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/encoder.h"

#include <algorithm>

#include "compll/codegen/cuda/loops.h"
#include "compll/codegen/cuda/terms.h"
#include "compll/ir/tiles/outputs.h"

namespace casync::compll {
namespace {

class CudaEncoderText : CudaLoops {
 public:
  CudaEncoderText(const Program& program, const EncodeGraph& encode, const Lowered& lowered, Writer& out,
                  Diagnostics& diagnostics)
      : CudaLoops(program, encode, out, diagnostics),
        lowered_(lowered),
        plan_(schedule(graph_, outputs_of(encode), Transforms::kAgain)) {
    for (const Output& output : outputs_of(encode_)) text_.keep(output.value);
    survey();
  }

  const cuda::Shape& shape() const { return shape_; }

  /// Writes a struct of this name. The codec's shape has room for all of its encoders.
  void write(const std::string& name, const cuda::Shape& shape) {
    shape_ = shape;
    // A unit would be a block, and a transform may take more elements.
    if (shape.ordered && graph_.has_transforms()) {
      refuse(program_.variables[program_.encode.gradient].at, "`hadamard` beside sums of blocks, by tiles,");
    }
    out_.open("struct " + name);
    write_functions();
    write_constants();
    if (shape.statistics) write_passes("statistics", 0, statistics_);
    write_passes("encode", statistics_, plan_.passes.size());
    write_end();
    out_.close(";");
    out_.line("");
  }

 private:
  /// Finds the passes ahead of the last launch, and the workspace's words for their results.
  void survey() {
    for (std::size_t pass = 0; pass < plan_.passes.size(); ++pass) {
      for (const Phase& phase : plan_.passes[pass].phases) {
        for (const ValueId id : phase.reductions) {
          const Value& value = graph_[id];
          if (!cuda_reducer(graph_, value)) refuse(value.at, "this reduction");
          text_.keep(id);
          if (value.kind == Value::Kind::kBlockReduce) shape_.ordered = shape_.ordered || is_ordered(graph_, value);
          if (value.kind != Value::Kind::kReduce) continue;
          slots_[id] = shape_.slots++;
          // Its chunks would have to be put together in a launch of their own.
          if (is_ordered(graph_, value)) refuse(value.at, "a reduction of the whole vector in its order, by tiles,");
        }
      }
    }
    statistics_ = plan_.passes.size() - 1;
    shape_.statistics = statistics_ != 0;
    shape_.second_for_kept = statistics_ == 1 && is_for_kept(plan_.passes.back());
    // A second pass could not begin until the first one is over everywhere.
    if (statistics_ > 1)
      refuse(program_.variables[program_.encode.gradient].at, "what takes more than two passes, by tiles,");
    if (!lowered_.block) return;
    shape_.has_blocks = true;
    const Constant& block = *lowered_.block;
    if (block.parameter) {
      shape_.block_parameter = static_cast<std::int32_t>(*block.parameter);
    } else {
      shape_.fixed_block = block.value;
    }
  }

  /// The functions that the program reduces by.
  void write_functions() {
    for (std::size_t i = 0; i < graph_.functions().size(); ++i) {
      const ReducerFunction& function = graph_.functions()[i];
      const CudaExpression text(function.graph, {function.result});
      const std::string type = type_text(function.graph[0].type);
      out_.open("struct Function" + std::to_string(i));
      out_.open("COMPLL_BOTH " + type + " operator()(" + type + " " + text.name(0) + ", " + type + " " + text.name(1) +
                ") const");
      for (ValueId id = 2; id < function.graph.values().size(); ++id) {
        const Value& value = function.graph[id];
        if (!text.has_line(id)) continue;
        out_.source_line(value.at);
        out_.line("const " + type_text(value.type) + " " + text.name(id) + " = " + text.definition(id) + ";");
      }
      out_.line("return " + text.bare(function.result) + ";");
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
    out_.line("static constexpr uint32_t kSlots = " + std::to_string(shape_.slots) +
              ", kStates = " + std::to_string(program_.states.size()) + ";");
    out_.line(std::string("static constexpr bool kHasBlocks = ") + flag(shape_.has_blocks) +
              ", kOrdered = " + flag(shape_.ordered) + ", kSecondForKept = " + flag(shape_.second_for_kept) + ";");
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
    std::vector<ValueId> needed;
    for (const Output& output : plan_.tensor_stores) needed.push_back(output.value);
    write_preamble(needed, plan_.tensor_stores);
    for (const Output& output : plan_.tensor_stores) {
      out_.line("store_one<" + entry_bits(output.index) + ">(" + text_.bare(output.value) + ", " +
                section(output.index) + ", 0);");
    }
    out_.line("Sections(n, settings.log2_block).clear_gaps(work.segment.payload);");
    out_.close();
    out_.forget_line();
  }

  const Lowered& lowered_;
  Schedule plan_;
  std::size_t statistics_ = 0;  ///< passes of the first launch
};

}  // namespace

cuda::Shape write_cuda_encoders(const Program& program, const Lowered& lowered, Writer& out, Diagnostics& diagnostics) {
  CudaEncoderText encode(program, lowered.encode, lowered, out, diagnostics);
  cuda::Shape shape = encode.shape();
  if (!lowered.merge) {
    encode.write("Codec", shape);
    return shape;
  }
  CudaEncoderText merge(program, *lowered.merge, lowered, out, diagnostics);
  shape.slots = std::max(shape.slots, merge.shape().slots);
  shape.ordered = shape.ordered || merge.shape().ordered;
  shape.statistics = shape.statistics || merge.shape().statistics;
  shape.second_for_kept = shape.second_for_kept && merge.shape().second_for_kept;
  encode.write("Codec", shape);
  merge.write("CodecOfSums", shape);
  return shape;
}

}  // namespace casync::compll
