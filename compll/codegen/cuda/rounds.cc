// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/rounds.h"

#include "compll/codegen/cuda/cannot_write.h"
#include "compll/codegen/cuda/codec_file.h"
#include "compll/codegen/cuda/sizes.h"
#include "compll/codegen/cuda/terms.h"
#include "compll/codegen/cuda/whole_routine.h"
#include "compll/codegen/text/operation_text.h"
#include "compll/ir/rounds/rounds_plan.h"

namespace casync::compll {
namespace {

class CudaRoundsText {
 public:
  CudaRoundsText(const Program& program, Writer& out, Diagnostics& diagnostics)
      : program_(program),
        routine_(*program.synchronize),
        out_(out),
        diagnostics_(diagnostics),
        plan_(plan_rounds(program)) {}

  void write(CudaRounds& made) {
    write_cuda_sizes(program_, "kRoundsTile", out_);
    write_layout();
    out_.line("");
    for (std::size_t turn = 0; turn < plan_.turns.size(); ++turn) {
      made.stages.push_back(write_turn(turn));
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
  std::size_t last() const { return plan_.turns.size() - 1; }
  const Type& type_of(VariableId id) const { return program_.variables[id].type; }

  static std::string word(const std::string& of, std::size_t index) { return of + std::to_string(index); }
  static std::string exchanged_at(std::size_t round) { return "part.exchanged(" + std::to_string(round) + ")"; }
  static std::string state_at(std::size_t index) { return "part.kept_out(layout." + word("state", index) + ","; }
  std::string stored_at(std::size_t index) const {
    const std::string type = type_text(type_of(plan_.stored[index]).element);
    return "part.scratch<" + type + ">(layout." + word("stored", index) + ")";
  }

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

  /// Returns the number of stages.
  std::uint32_t write_turn(std::size_t turn) {
    std::vector<VariableId> kept;
    for (std::size_t i = 0; i < plan_.stored.size(); ++i) {
      if (plan_.stored_in[i] == turn) kept.push_back(plan_.stored[i]);
    }
    if (turn == last()) kept.insert(kept.end(), routine_.states_then.begin(), routine_.states_then.end());
    CudaWholeRoutine text(program_, plan_.turns[turn], kept, out_, diagnostics_);
    plan_inputs(text, turn);
    want(text, turn);
    text.arrays.plan_steps();
    const Term& given = *plan_.turns[turn].given;
    text.arrays.plan_term(given);
    for (std::size_t i = 0; i < plan_.stored.size(); ++i) {
      if (plan_.stored_in[i] == turn) put(text, plan_.stored[i], stored_at(i));
    }
    turn < last() ? put_given(text, given, turn) : put_result(text, given);
    text.stages.write(word("Turn", turn), "", [&] { out_.line("part.clear(at.cleared);"); });
    return text.stages.count();
  }

  void plan_inputs(CudaWholeRoutine& text, std::size_t turn) {
    const auto plan = [&](VariableId id, const std::string& address) {
      if (text.names.uses(id)) text.arrays.plan_memory(id, address);
    };
    plan(routine_.gradient, "in_global(part.segment.in)");
    for (std::size_t i = 0; i < routine_.states.size(); ++i) {
      plan(routine_.states[i], "part.kept_in(layout." + word("state", i) + ")");
    }
    for (std::size_t i = 0; i < turn; ++i) plan(plan_.exchanged[i], exchanged_at(i));
    for (std::size_t i = 0; i < plan_.stored.size(); ++i) {
      if (plan_.stored_in[i] < turn) plan(plan_.stored[i], stored_at(i));
    }
  }

  /// Announces the addresses at which variables are wanted; the first one of a variable is where it is made.
  void want(CudaWholeRoutine& text, std::size_t turn) {
    for (std::size_t i = 0; i < plan_.stored.size(); ++i) {
      if (plan_.stored_in[i] == turn) text.places.want_at(plan_.stored[i], stored_at(i));
    }
    const Term& given = *plan_.turns[turn].given;
    if (turn < last() && given.op == Op::kVariable) text.places.want_at(given.variable, exchanged_at(turn));
    for (std::size_t i = 0; turn == last() && i < routine_.states_then.size(); ++i) {
      text.places.want_at(routine_.states_then[i], state_at(i));
    }
  }

  /// Copies a variable to an address unless it was made there.
  void put(CudaWholeRoutine& text, VariableId id, const std::string& address) {
    const Type& type = type_of(id);
    if (text.places.is_at_place(id, address)) return;
    const std::uint32_t stage =
        CudaNames::is_of_blocks(type) || !type.is_array() ? text.plan.ready(id).all : text.plan.ready(id).own;
    text.stages.add(stage, [=, this, &text] {
      const std::string value = text.plan.array(id);
      out_.line(!type.is_array() ? "if (part.is_first_thread()) *" + address + " = " + value + ";"
                                 : fill(type, value, address));
    });
  }
  static std::string fill(const Type& type, const std::string& array, const std::string& address) {
    return "fill(part, " + CudaNames::size(type) + ", " + array + ", " + address + ");";
  }

  void put_given(CudaWholeRoutine& text, const Term& given, std::size_t turn) {
    if (given.op == Op::kVariable) return put(text, given.variable, exchanged_at(turn));
    text.stages.add(text.plan.ready_to_share(given), [&, turn] {
      const std::string array = text.plan.array(given);
      out_.source_line(given.at);
      out_.line(fill(given.type(), array, exchanged_at(turn)));
    });
  }

  void put_result(CudaWholeRoutine& text, const Term& given) {
    for (std::size_t i = 0; i < routine_.states_then.size(); ++i) put_state(text, i);
    // The result may be in the gradient's memory: if a step reads the gradient, it is made elsewhere.
    const bool waits = text.names.uses(routine_.gradient);
    const std::string made = waits ? text.stages.memory("float", "made", "4 * n") : "in_global(part.segment.out)";
    text.stages.add(text.plan.ready_to_share(given), [&, made] {
      const std::string array = text.plan.array(given);
      out_.source_line(given.at);
      out_.line(fill(given.type(), array, made));
    });
    if (!waits) return;
    text.stages.add(text.stages.count(), [this, made] {
      out_.line("fill(part, n, Array<float>{" + made + "}, in_global(part.segment.out));");
    });
  }
  void put_state(CudaWholeRoutine& text, std::size_t index) {
    const VariableId then = routine_.states_then[index];
    if (text.places.is_at_place(then, state_at(index))) return;
    text.stages.add(text.plan.ready(then).own, [=, this, &text] {
      const std::string array = text.plan.array(then);
      out_.line("if (part.segment.states_out != nullptr) " + fill(type_of(then), array, state_at(index) + " 0)"));
    });
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
  const Routine& routine_;
  Writer& out_;
  Diagnostics& diagnostics_;
  RoundsPlan plan_;
};

}  // namespace

Result<CudaRounds> cuda_rounds_text(const Program& program, const Source& source) {
  if (!program.synchronize) return unimplemented(source.name() + ": exchanges nothing");
  CASYNC_RETURN_IF_ERROR(check_parameters(program, source));
  const std::string codec = program.declares.name;
  Diagnostics diagnostics(source);
  Writer out(source);
  CudaRounds made;
  made.codec = codec;
  open_codec(out, codec, {"matrix", "rotation", "selection", "sorting"});
  out.line("");
  try {
    CudaRoundsText(program, out, diagnostics).write(made);
  } catch (const CannotWriteCuda&) {
    return unimplemented(diagnostics.status().message());
  }
  close_codec(out, codec);
  made.text = out.take();
  return made;
}

}  // namespace casync::compll
