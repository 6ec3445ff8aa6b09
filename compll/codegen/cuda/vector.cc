// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/vector.h"

#include <algorithm>

#include "compll/codegen/cuda/codec_file.h"
#include "compll/codegen/cuda/coding.h"
#include "compll/codegen/cuda/routine.h"
#include "compll/codegen/cuda/sizes.h"
#include "compll/codegen/cuda/terms.h"
#include "compll/codegen/cuda/vector_names.h"
#include "compll/codegen/cuda/vector_routine.h"

namespace casync::compll {
namespace {

std::string kernel_name(const Program& program, const std::string& function) {
  return "casync_" + program.declares.name + "_" + function;
}

std::string capitalized(std::string word) {
  word[0] = static_cast<char>(word[0] - 'a' + 'A');
  return word;
}

class CudaVectorText {
 public:
  CudaVectorText(const cuda_vector::Plan& plan, Writer& out) : plan_(plan), program_(*plan.program), out_(out) {}

  void write() {
    write_cuda_sizes(program_, "kVectorFormTile", out_);
    write_sections();
    out_.line("");
    for (const cuda_vector::Routine* routine : routines_of(plan_)) {
      write_routine(*routine);
      out_.line("");
    }
  }

 private:
  void write_sections() {
    out_.line("/// Where a payload's sections lie.");
    std::vector<std::string> members;
    for (std::uint32_t i = 0; i < program_.sections.size(); ++i) {
      members.push_back("uint64_t " + word(i) + ", " + word(i) + "_end;");
    }
    CudaStages::write_measures(program_, "Sections", members, out_, [&] {
      std::string before = "kHeaderBytes";
      for (std::uint32_t i = 0; i < program_.sections.size(); ++i) {
        const Type& type = program_.sections[i].type;
        out_.line(word(i) + " = " + (i == 0 ? before : "section_behind(" + before + ")") + ";");
        before = word(i) + "_end";
        out_.line(before + " = end_of_section(" + word(i) + ", " + CudaNames::size(type) + ", " +
                  cuda_width(type.element) + ");");
      }
    });
    out_.line("");
    out_.open(
        "__device__ inline void clear_gaps([[maybe_unused]] const Sections& sections, [[maybe_unused]] unsigned char* "
        "payload)");
    for (std::uint32_t i = 1; i < program_.sections.size(); ++i) {
      out_.line("clear_gap(payload, sections." + word(i - 1) + "_end, sections." + word(i) + ");");
    }
    out_.close();
  }
  std::string word(std::uint32_t section) const { return CudaRoutine::section_word(program_, section); }

  void write_routine(const cuda_vector::Routine& routine) {
    const bool encodes = routine.role == cuda_vector::Role::kEncode;
    const std::string constants = ", kNumber = " + std::to_string(program_.declares.number) +
                                  ", kVersion = " + std::to_string(program_.declares.version);
    const std::vector<std::string> last = {
        "write_header<kNumber, kVersion>(part);",
        "if (threadIdx.x == 0) clear_gaps(sections, in_global(part.segment.payload));"};
    CudaVectorRoutine text(routine, out_);
    text.stages.write(capitalized(routine.name), encodes ? constants : "", encodes ? last : std::vector<std::string>());
  }

  const cuda_vector::Plan& plan_;
  const Program& program_;
  Writer& out_;
};

void write_kernel(Writer& out, const std::string& name, const std::string& function) {
  out.line("#if COMPLL_HAS(" + name + ")");
  out.open("extern \"C\" __global__ void __launch_bounds__(kThreads)\n    " + name +
           "(const __grid_constant__ Launch launch)");
  const std::string kind = function == "merge" ? "encode" : function;
  out.line(kind + "_by_stages<" + capitalized(function) + ">(launch);");
  out.close();
  out.line("#endif");
  out.line("");
}

/// Writes the entry of a kernel in the table that the host needs.
std::string table_entry(const Program& program, const std::string& function) {
  const std::string type = capitalized(function);
  const auto bytes = [&](const std::string& which) {
    return "[](uint64_t n, const Settings& settings) -> uint64_t { return " + type + "::Geometry(n, settings).at." +
           which + "; }";
  };
  return "{.kernel = " + kernel_name(program, function) + ",\n            .stages = " + type +
         "::kStages,\n            .memory_bytes = " + bytes("all") +
         ",\n            .zeroed_bytes = " + bytes("zeroed") + "}";
}

void write_sizes(Writer& out, const Program& program, const CudaVectorForm& made) {
  std::vector<std::pair<std::string, std::string>> members = {{"tile_elements", "tile_elements(settings)"}};
  const std::vector<std::string> functions = {"encode", "merge", "decode", "result"};
  for (const auto& [function, stages] : made.stages) {
    const auto place = std::find(functions.begin(), functions.end(), function) - functions.begin();
    const std::string index = "[" + std::to_string(place) + "]",
                      memory = capitalized(function) + "::Geometry(n, settings).at";
    members.push_back({"memory_bytes" + index, memory + ".all"});
    members.push_back({"zeroed_bytes" + index, memory + ".zeroed"});
  }
  write_sizes_kernel(program.declares.name, members, out);
}

void write_table(Writer& out, const Program& program, const CudaVectorForm& made) {
  out.line("#ifndef __CUDACC_RTC__");
  out.line("/// For whoever is linked with this text.");
  out.open("extern \"C\" const VectorFormKernels* casync_" + program.declares.name + "_kernels()");
  out.line("static const VectorFormKernels kernels = {");
  out.line("    .name = \"" + program.declares.name + "\",");
  out.line("    .states = " + std::to_string(program.states.size()) + ",");
  out.line(std::string("    .keeps_residual = ") + (made.keeps_residual ? "true," : "false,"));
  out.line("    .sizes = " + kernel_name(program, "sizes") + ",");
  std::string members = "    .tile_elements = [](const Settings& settings) { return tile_elements(settings); }";
  for (const std::string function : {"encode", "merge", "decode", "result"}) {
    const bool has =
        std::any_of(made.stages.begin(), made.stages.end(), [&](const auto& each) { return each.first == function; });
    members += ",\n      ." + function + " = " + (has ? table_entry(program, function) : "{}");
  }
  out.line(members + "};");
  out.line("return &kernels;");
  out.close();
  out.line("#endif  // __CUDACC_RTC__");
}

}  // namespace

CudaVectorForm cuda_vector_text(const cuda_vector::Plan& plan, const Source& source) {
  const Program& program = *plan.program;
  const std::string codec = program.declares.name;
  Writer out(source);
  CudaVectorForm made;
  made.codec = codec;
  made.keeps_residual = plan.encode.keeps_residual && (!plan.merge || plan.merge->keeps_residual);
  std::vector<std::string> headers = {"rotation", "selection", "sorting", "vector_form_reducers"};
  if (has_codings(program)) headers.insert(headers.begin(), kCodingHeader);
  open_codec(out, codec, headers);
  out.line("");
  CudaVectorText(plan, out).write();
  for (const cuda_vector::Routine* routine : routines_of(plan)) {
    made.stages.push_back({routine->name, static_cast<std::uint32_t>(routine->stages.size())});
    made.kernels.push_back(kernel_name(program, routine->name));
    write_kernel(out, made.kernels.back(), routine->name);
  }
  write_sizes(out, program, made);
  write_table(out, program, made);
  write_cuda_coding(program, out, made.kernels);
  close_codec(out, codec);
  made.text = out.take();
  return made;
}

Result<CudaVectorForm> cuda_vector_text(const Program& program, const Source& source) {
  const Result<cuda_vector::Plan> plan = cuda_vector::plan_vector(program, source);
  return plan ? Result<CudaVectorForm>(cuda_vector_text(*plan, source)) : plan.status();
}

}  // namespace casync::compll
