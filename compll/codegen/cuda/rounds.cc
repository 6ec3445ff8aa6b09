// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/rounds.h"

#include "compll/codegen/cuda/codec_file.h"
#include "compll/codegen/cuda/sizes.h"
#include "compll/codegen/cuda/terms.h"
#include "compll/codegen/cuda/vector_names.h"
#include "compll/codegen/cuda/vector_routine.h"
#include "compll/ir/rounds/rounds_plan.h"

namespace casync::compll {
namespace {

class CudaRoundsText {
 public:
  CudaRoundsText(const cuda_vector::Turns& turns, Writer& out)
      : program_(*turns.program), out_(out), turns_(turns), plan_(turns.rounds) {}

  void write(CudaRounds& made) {
    write_cuda_sizes(program_, "kRoundsTile", out_);
    write_layout();
    out_.line("");
    for (std::size_t turn = 0; turn < plan_.turns.size(); ++turn) {
      CudaVectorRoutine text(turns_.turns[turn], out_);
      text.stages.write(word("Turn", turn), "", {});
      made.stages.push_back(static_cast<std::uint32_t>(turns_.turns[turn].stages.size()));
      out_.line("");
    }
    for (std::size_t turn = 0; turn < plan_.turns.size(); ++turn) {
      made.kernels.push_back("casync_" + program_.declares.name + "_turn_" + std::to_string(turn));
      write_kernel(made.kernels.back(), turn);
    }
    write_sizes();
    write_table(made.kernels);
  }

 private:
  const Type& type_of(VariableId id) const { return program_.variables[id].type; }

  static std::string word(const std::string& of, std::size_t index) { return of + std::to_string(index); }

  /// Writes the numbers of floats exchanged, and the offsets of states and of values that turns keep for later ones.
  void write_layout() {
    out_.line("/// What is exchanged, and where states and what turns keep for later ones begin: in floats.");
    std::string names;
    for (std::size_t i = 0; i < program_.states.size(); ++i) names += word("state", i) + ", ";
    for (std::size_t i = 0; i < plan_.stored.size(); ++i) names += word("stored", i) + ", ";
    const std::vector<std::string> members = {"uint64_t exchanged[" + std::to_string(plan_.exchanged.size()) + "];",
                                              "uint64_t " + names + "states, stored;"};
    CudaStages::write_measures(program_, "Layout", members, out_, [&] { write_places_of_layout(); });
  }
  void write_places_of_layout() {
    for (std::size_t i = 0; i < plan_.exchanged.size(); ++i) {
      out_.line("exchanged[" + std::to_string(i) + "] = " + CudaNames::size(type_of(plan_.exchanged[i])) + ";");
    }
    out_.line("states = 0;");
    for (std::size_t i = 0; i < program_.states.size(); ++i) {
      out_.line(word("state", i) + " = states;");
      out_.line("states += " + CudaNames::size({kFloatType, program_.states[i].extent}) + ";");
    }
    out_.line("Places places;");
    for (std::size_t i = 0; i < plan_.stored.size(); ++i) {
      const Type& type = type_of(plan_.stored[i]);
      out_.line(word("stored", i) + " = places.take(" + cuda_bytes(CudaNames::size(type), type.element) + ") / 4;");
    }
    out_.line("stored = places.end() / 4;");
  }

  void write_kernel(const std::string& name, std::size_t turn) {
    out_.line("#if COMPLL_HAS(" + name + ")");
    out_.open("extern \"C\" __global__ void __launch_bounds__(kThreads)\n    " + name +
              "(const __grid_constant__ Launch launch)");
    out_.line("turn_by_stages<" + word("Turn", turn) + ">(launch);");
    out_.close();
    out_.line("#endif");
    out_.line("");
  }

  static std::string layout_on_host() { return word("Turn", 0) + "::Geometry(n, settings).layout"; }

  void write_sizes() {
    const std::string layout = layout_on_host();
    std::vector<std::pair<std::string, std::string>> members = {{"tile_elements", "tile_elements(settings)"}};
    for (std::size_t turn = 0; turn < plan_.turns.size(); ++turn) {
      const std::string index = "[" + std::to_string(turn) + "]",
                        memory = word("Turn", turn) + "::Geometry(n, settings).at";
      members.push_back({"memory_bytes" + index, memory + ".all"});
      members.push_back({"zeroed_bytes" + index, memory + ".zeroed"});
    }
    for (std::size_t i = 0; i < plan_.exchanged.size(); ++i) {
      const std::string index = "[" + std::to_string(i) + "]";
      members.push_back({"exchanged_floats" + index, layout + ".exchanged" + index});
    }
    members.push_back({"state_floats", layout + ".states"});
    members.push_back({"scratch_floats", layout + ".stored"});
    write_sizes_kernel(program_.declares.name, members, out_);
  }

  /// Writes the table that the host needs.
  void write_table(const std::vector<std::string>& kernels) {
    const std::string layout = layout_on_host();
    const std::string lambda = "[](const Matrix& n, const Settings& settings) -> uint64_t { return ";
    out_.line("#ifndef __CUDACC_RTC__");
    out_.line("/// For whoever is linked with this text.");
    out_.open("extern \"C\" const RoundsKernels* casync_" + program_.declares.name + "_kernels()");
    out_.line("static const RoundsKernels kernels = {");
    out_.line("    .name = \"" + program_.declares.name + "\",");
    out_.line("    .rounds = " + std::to_string(plan_.exchanged.size()) + ",");
    out_.line("    .sizes = casync_" + program_.declares.name + "_sizes,");
    out_.line("    .tile_elements = [](const Settings& settings) { return tile_elements(settings); },");
    out_.line("    .exchanged_floats = [](uint32_t round, const Matrix& n, const Settings& settings) -> uint64_t {");
    out_.line("      return " + layout + ".exchanged[round];");
    out_.line("    },");
    out_.line("    .state_floats = " + lambda + layout + ".states; },");
    out_.line("    .scratch_floats = " + lambda + layout + ".stored; },");
    std::string turns;
    for (std::size_t turn = 0; turn < kernels.size(); ++turn) {
      const std::string type = word("Turn", turn);
      turns += (turn == 0 ? "" : ",\n              ") + std::string("{.kernel = ") + kernels[turn] +
               ",\n               .stages = " + type + "::kStages,\n               .memory_bytes = " + lambda + type +
               "::Geometry(n, settings).at.all; },\n               .zeroed_bytes = " + lambda + type +
               "::Geometry(n, settings).at.zeroed; }}";
    }
    out_.line("    .turns = {" + turns + "}};");
    out_.line("return &kernels;");
    out_.close();
    out_.line("#endif  // __CUDACC_RTC__");
  }

  const Program& program_;
  Writer& out_;
  const cuda_vector::Turns& turns_;
  const RoundsPlan& plan_;
};

}  // namespace

CudaRounds cuda_rounds_text(const cuda_vector::Turns& turns, const Source& source) {
  const std::string codec = turns.program->declares.name;
  Writer out(source);
  CudaRounds made;
  made.codec = codec;
  open_codec(out, codec, {"matrix", "rotation", "selection", "sorting"});
  out.line("");
  CudaRoundsText(turns, out).write(made);
  close_codec(out, codec);
  made.text = out.take();
  return made;
}

Result<CudaRounds> cuda_rounds_text(const Program& program, const Source& source) {
  const Result<cuda_vector::Turns> turns = cuda_vector::plan_turns(program, source);
  return turns ? Result<CudaRounds>(cuda_rounds_text(*turns, source)) : turns.status();
}

}  // namespace casync::compll
