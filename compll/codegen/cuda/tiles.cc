// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/tiles.h"

#include "compll/codegen/cuda/codec_file.h"
#include "compll/codegen/cuda/coding.h"
#include "compll/codegen/cuda/decoder.h"
#include "compll/codegen/cuda/encoder.h"
#include "compll/codegen/cuda/result.h"
#include "compll/codegen/cuda/routine.h"

namespace casync::compll {
namespace {

bool is_of_blocks(const Section& section) {
  return section.type.extent && section.type.extent->kind == Extent::Kind::kBlocks;
}

std::string entries(const Section& section) {
  return !section.type.extent ? "1" : is_of_blocks(section) ? "entries_of_blocks(n, log2_block)" : "n";
}

/// Writes a struct with the sections' offsets, and a function that clears the bytes between them.
void write_sections(Writer& out, const Program& program) {
  std::string names, ends;
  for (std::uint32_t i = 0; i < program.sections.size(); ++i) {
    const std::string word = CudaRoutine::section_word(program, i);
    names += (i == 0 ? "" : ", ") + word;
    ends += (i == 0 ? "" : ", ") + word + "_end";
  }
  out.line("/// Where a payload's sections lie.");
  out.open("struct Sections");
  if (program.sections.empty()) {
    out.line("COMPLL_BOTH Sections(uint64_t, uint32_t) {}");
    out.line("COMPLL_BOTH void clear_gaps(unsigned char*) const {}");
    out.close(";");
    return;
  }
  out.line("uint64_t " + names + ";");
  out.line("uint64_t " + ends + ";");
  out.line("");
  out.open("COMPLL_BOTH Sections(uint64_t n, [[maybe_unused]] uint32_t log2_block)");
  std::string before = "kHeaderBytes";
  for (std::uint32_t i = 0; i < program.sections.size(); ++i) {
    const Section& section = program.sections[i];
    const std::string word = CudaRoutine::section_word(program, i);
    out.line(word + " = " + (i == 0 ? before : "section_behind(" + before + ")") + ";");
    before = word + "_end";
    out.line(before + " = end_of_section(" + word + ", " + entries(section) + ", " +
             std::to_string(section.type.element.bits) + ");");
  }
  out.line("static_cast<void>(n);");
  out.close();
  out.open("COMPLL_BOTH void clear_gaps([[maybe_unused]] unsigned char* payload) const");
  for (std::uint32_t i = 1; i < program.sections.size(); ++i) {
    const std::string end = CudaRoutine::section_word(program, i - 1) + "_end";
    out.line("clear_gap(payload, " + end + ", " + CudaRoutine::section_word(program, i) + ");");
  }
  out.close();
  out.close(";");
}

struct KernelText {
  std::string operation, body;
};

/// The classes that kernels are made of.
struct KernelClasses {
  std::string scope;                       ///< of the codec's, ending in "::"; empty: the kernels are inside it
  std::string merged = "Merged<Decoder>";  ///< the vector that a merge encodes
};

std::vector<KernelText> kernels_of(const CudaText& text, const KernelClasses& classes) {
  const std::string codec = classes.scope + "Codec";
  const std::string merge = codec + (text.encodes_sums ? "OfSums" : "") + ", " + classes.merged + ">(launch);";
  std::vector<KernelText> all = {{"encode", "encode_tile<" + codec + ", Gradient>(launch);"},
                                 {"merge", "encode_tile<" + merge},
                                 {"decode", "decode_tile<" + codec + ">(launch);"}};
  if (text.has_result) all.push_back({"result", "result_of_tile<" + codec + ", " + classes.scope + "Result>(launch);"});
  if (!text.shape.statistics) return all;
  all.push_back({"encode_statistics", "statistics_of_tile<" + codec + ", Gradient>(launch);"});
  all.push_back({"merge_statistics", "statistics_of_tile<" + merge});
  return all;
}

/// The scope of a codec's classes.
std::string scope_of(const CudaText& text) { return "codec_" + text.codec + "::"; }

/// Blocks of threads for which a multiprocessor needs registers: as many as possible while few registers have to be
/// spilled. Sums in an order and merges keep more registers.
int blocks_at_once(bool ordered, bool merges) { return 6 - (ordered ? 1 : 0) - (merges ? 1 : 0); }

/// Returns one kernel's text, and adds its name to the text's kernels.
std::string kernel_text(CudaText& made, const std::string& name, const KernelText& kernel) {
  made.kernels.push_back(name + "_" + kernel.operation);
  const bool merges = kernel.operation.starts_with("merge");
  const std::string blocks = std::to_string(blocks_at_once(made.shape.ordered, merges));
  return "#if COMPLL_HAS(" + made.kernels.back() + ")\nextern \"C\" __global__ void __launch_bounds__(kThreads, " +
         blocks + ")\n    " + made.kernels.back() + "(const __grid_constant__ Launch launch) {\n  " + kernel.body +
         "\n}\n#endif\n";
}

void write_kernels(Writer& out, const std::string& codec, CudaText& made) {
  std::string members;
  for (const KernelText& kernel : kernels_of(made, {})) {
    out.line(kernel_text(made, "casync_" + codec, kernel));
    members += ",\n      ." + kernel.operation + " = " + made.kernels.back();
  }
  const cuda::Shape& shape = made.shape;
  const auto flag = [](bool value) { return value ? "true" : "false"; };
  out.line("#ifndef __CUDACC_RTC__");
  out.line("/// For whoever is linked with this text.");
  out.open("extern \"C\" const Kernels* casync_" + codec + "_kernels()");
  out.line("static const Kernels kernels = {");
  out.line("    .name = \"" + codec + "\",");
  out.line("    .shape = {" + std::to_string(shape.slots) + ", " + std::to_string(shape.fixed_block) + ", " +
           std::to_string(shape.block_parameter) + ", " + flag(shape.has_blocks) + ", " + flag(shape.ordered) + ", " +
           flag(shape.statistics) + ", " + flag(shape.second_for_kept) + "}" + members + "};");
  out.line("return &kernels;");
  out.close();
  out.line("#endif  // __CUDACC_RTC__");
}

}  // namespace

CudaText cuda_text(const CudaTiles& plan, const Source& source) {
  const Program& program = *plan.program;
  const std::string codec = program.declares.name;
  Writer out(source);
  CudaText made;
  made.codec = codec;
  made.shape = plan.shape;
  made.encodes_sums = plan.merge.has_value();
  made.has_result = plan.result.has_value();
  std::vector<std::string> headers = {"program"};
  if (plan.rotates) headers.insert(headers.begin(), "hadamard");
  if (has_codings(program)) headers.insert(headers.begin(), kCodingHeader);
  open_codec(out, codec, headers);
  out.line("namespace codec = codec_" + codec + ";");
  out.line("");
  write_sections(out, program);
  out.line("");
  write_cuda_decoder(program, plan.decoder, out);
  out.line("");
  write_cuda_encoders(plan, out);
  if (plan.result) write_cuda_result(program, *plan.result, out);
  write_kernels(out, codec, made);
  write_cuda_coding(program, out, made.kernels);
  close_codec(out, codec);
  made.text = out.take();
  return made;
}

Result<CudaText> cuda_text(const Program& program, const Lowered& lowered, const Source& source) {
  const Result<CudaTiles> plan = plan_cuda_tiles(program, lowered, source);
  if (!plan) return plan.status();
  return cuda_text(*plan, source);
}

CudaText cuda_greatest_text(const CudaText& elements, const std::string& name) {
  CudaText made;
  made.codec = name;
  made.shape = elements.shape;
  made.text = "#include \"compll/ops/cuda/greatest.cuh\"\n" + elements.text + "\nnamespace casync::compll::cuda {\n";
  const KernelClasses classes{scope_of(elements), "Greatest<" + scope_of(elements) + "Decoder>"};
  for (const KernelText& kernel : kernels_of(elements, classes)) {
    made.text += "\n" + kernel_text(made, "casync_" + name, kernel);
  }
  made.text += "\n}  // namespace casync::compll::cuda\n";
  return made;
}

}  // namespace casync::compll
