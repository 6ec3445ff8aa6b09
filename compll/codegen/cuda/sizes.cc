// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/sizes.h"

#include <set>

#include "compll/codegen/cuda/vector_names.h"
#include "compll/codegen/text/size_text.h"
#include "compll/lang/terms.h"

namespace casync::compll {
namespace {

/// Blocks of elements, as text. Vectors are no blocks: their ends need not be those of a tile.
std::set<std::string> blocks_of(const Program& program) {
  std::set<std::string> all;
  const auto note_type = [&](const Type& type) {
    if (CudaNames::is_of_blocks(type)) all.insert(CudaNames::block_size(type.extent->count));
  };
  const auto note = [&](const Term& term) {
    const bool has_blocks = operation_of(term.op).traits.has_blocks && !term.block.dimension;
    if (has_blocks) all.insert(CudaNames::block_size(term.block));
    if (!term.types.empty()) note_type(term.type());
  };
  for_each_term(program.encode, note);
  for_each_term(program.decode, note);
  for (const auto* routine : {&program.merge, &program.result, &program.synchronize}) {
    if (*routine) for_each_term(**routine, note);
  }
  for (const Section& section : program.sections) {
    note_type(section.type);
    if (section.type.element == kTritType) all.insert("5u");
  }
  return all;
}

}  // namespace

void write_cuda_sizes(const Program& program, const std::string& tile, Writer& out) {
  out.line("/// How many elements arrays have whose sizes the program computes.");
  out.open("struct Lengths");
  for (std::size_t i = 0; i < program.sizes.size(); ++i) {
    out.line("uint64_t size" + std::to_string(i) + ";  ///< " + comment_text(program.sizes[i].text));
  }
  if (!program.sizes.empty()) out.line("");
  out.open("COMPLL_BOTH Lengths([[maybe_unused]] " + CudaNames::declared_n(program) +
           ", [[maybe_unused]] const Settings& settings)");
  for (std::size_t i = 0; i < program.sizes.size(); ++i) {
    out.line("size" + std::to_string(i) + " = opaque(least<uint64_t>(n, " +
             size_text(*program.sizes[i].value,
                       {[](ParameterId id) { return "settings.parameters[" + std::to_string(id) + "]"; },
                        CudaNames::size, "n.rows", "n.columns"}) +
             "));");
  }
  out.close();
  out.close(";");
  out.line("");
  out.line("/// A tile has whole blocks.");
  out.open("COMPLL_BOTH uint32_t tile_elements([[maybe_unused]] const Settings& settings)");
  std::string elements = tile;
  for (const std::string& block : blocks_of(program)) {
    elements.insert(0, "common_multiple(").append(", ").append(block).append(")");
  }
  out.line("return " + elements + ";");
  out.close();
  out.line("");
}

void write_sizes_kernel(const std::string& codec, const std::vector<std::pair<std::string, std::string>>& members,
                        Writer& out) {
  out.line("/// For a host that has not compiled this text.");
  out.line("#if COMPLL_HAS(casync_" + codec + "_sizes)");
  out.open("extern \"C\" __global__ void casync_" + codec +
           "_sizes(Sizes* sizes, const __grid_constant__ Matrix n,\n"
           "    const __grid_constant__ Settings settings)");
  out.line("*sizes = {};");
  for (const auto& [member, value] : members) out.line("sizes->" + member + " = " + value + ";");
  out.close();
  out.line("#endif");
  out.line("");
}

}  // namespace casync::compll
