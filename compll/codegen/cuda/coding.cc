// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/coding.h"

#include <set>
#include <utility>

namespace casync::compll {

void write_cuda_coding(const Program& program, Writer& out, std::vector<std::string>& kernels) {
  if (!has_codings(program)) return;
  std::set<Coding> used;
  for (const Section& section : program.sections) {
    if (section.coding != Coding::kPlain) used.insert(section.coding);
  }
  std::string bits;
  for (const Coding coding : used) {
    bits += (bits.empty() ? "" : " | ") + std::string("1u << ") + std::to_string(static_cast<unsigned>(coding));
  }
  out.line("");
  out.line("/// The codings of its sections.");
  out.line("inline constexpr uint32_t kCodings = " + bits + ";");
  out.line("");
  const std::string codec = "casync_" + program.declares.name;
  std::string table = "{.name = \"" + program.declares.name + "\"";
  for (const auto& [function, body] : {std::pair{"code", "code_blocks<kCodings>(launch);"},
                                       {"join", "join_blocks(launch);"},
                                       {"find", "find_blocks(launch);"},
                                       {"read", "read_blocks<kCodings>(launch);"}}) {
    const std::string name = codec + "_" + function;
    out.line("#if COMPLL_HAS(" + name + ")");
    out.open("extern \"C\" __global__ void __launch_bounds__(kThreads)\n    " + name +
             "(const __grid_constant__ CodingLaunch launch)");
    out.line(body);
    out.close();
    out.line("#endif");
    out.line("");
    kernels.push_back(name);
    table += ",\n      ." + std::string(function) + " = " + name;
  }
  out.line("#ifndef __CUDACC_RTC__");
  out.line("/// For whoever is linked with this text.");
  out.open("extern \"C\" const CodingKernels* " + codec + "_coding()");
  out.line("static const CodingKernels kernels = " + table + "};");
  out.line("return &kernels;");
  out.close();
  out.line("#endif  // __CUDACC_RTC__");
}

}  // namespace casync::compll
