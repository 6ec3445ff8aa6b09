// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/whole.h"

#include <algorithm>
#include <cmath>

#include "compll/codegen/cuda/cannot_write.h"
#include "compll/codegen/cuda/codec_file.h"
#include "compll/codegen/cuda/routine.h"
#include "compll/codegen/cuda/sizes.h"
#include "compll/codegen/cuda/terms.h"
#include "compll/codegen/cuda/whole_routine.h"
#include "compll/lang/terms.h"

namespace casync::compll {
namespace {

class CudaWholeText {
 public:
  CudaWholeText(const Program& program, Writer& out, Diagnostics& diagnostics)
      : program_(program), out_(out), diagnostics_(diagnostics) {}

  void write(CudaWhole& made) {
    write_cuda_sizes(program_, "kWholeTile", out_);
    write_sections();
    out_.line("");
    const auto count = [&](const std::string& name, std::uint32_t stages) {
      out_.line("");
      made.stages.push_back({name, stages});
    };
    count("encode", write_encoder("Encode", program_.encode));
    if (program_.merge) count("merge", write_encoder("Merge", *program_.merge));
    count("decode", write_decoder());
    if (program_.result) count("result", write_result());
    made.keeps_residual = keeps_residual_;
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

  std::uint32_t write_encoder(const std::string& name, const Routine& routine) {
    CudaWholeRoutine text(program_, routine, out_, diagnostics_);
    text.arrays.plan_memory(routine.gradient, "part.input(" + text.stages.place("input", "4 * n") + ")", {0, 1});
    const bool is_bounded = !std::isinf(program_.declares.overflow);
    text.input.plan_input(is_bounded ? "<" + overflow_bits_text(program_) + ">" : "<>", "part, at.input");
    plan_states(text, routine);
    text.places.find_changed();
    text.arrays.plan_steps();
    for (std::uint32_t i = 0; i < routine.sections.size(); ++i) plan_section(text, *routine.sections[i], i);
    text.places.plan_changes();
    keeps_residual_ = text.places.plan_residual() && keeps_residual_;
    keep_states(text, routine);
    const std::string constants = ", kNumber = " + std::to_string(program_.declares.number) +
                                  ", kVersion = " + std::to_string(program_.declares.version);
    text.stages.write(name, constants, [&] {
      out_.line("write_header<kNumber, kVersion>(part);");
      out_.line("if (threadIdx.x == 0) clear_gaps(sections, in_global(part.segment.payload));");
      text.stages.clear_memory();
    });
    return text.stages.count();
  }

  void plan_section(CudaWholeRoutine& text, const Term& term, std::uint32_t section) {
    text.arrays.plan_term(term);
    const Type& type = program_.sections[section].type;
    const std::string to = "in_global(part.segment.payload) + sections." + word(section);
    const bool words = type.element.bits >= 32 && type.element != kTritType;
    const bool blocks = CudaNames::is_of_blocks(type) && words;
    const std::uint32_t stage = blocks ? text.plan.ready(term).own : text.plan.ready_to_share(term);
    const bool is_even = CudaNames::part_of(type) != "part";
    const auto write = [=, this, &text, &term] {
      if (!type.is_array()) {
        const std::string value = text.values.scalar(term);
        return out_.line("store_scalar<" + cuda_width(type.element) + ">(part, " + value + ", " + to + ");");
      }
      const std::string array = text.plan.array(term), part = CudaNames::part_of(type);
      const std::string by = "<" + cuda_width(type.element) + ">(" + part + ", ";
      out_.line((blocks ? "store_blocks" + by + CudaNames::block_size(type.extent->count)
                        : "store_section" + by + CudaNames::size(type)) +
                ", " + array + ", " + to + ");");
    };
    is_even ? text.stages.add(stage, write) : text.stages.add_own(stage, write);
  }

  void plan_states(CudaWholeRoutine& text, const Routine& routine) {
    for (std::size_t i = 0; i < routine.states.size(); ++i) {
      text.arrays.plan_memory(routine.states[i], "part.state_in(" + std::to_string(i) + ")");
    }
    for (std::size_t i = 0; i < routine.states_then.size(); ++i) {
      text.places.want_at(routine.states_then[i], state_place(i));
    }
  }
  static std::string state_place(std::size_t index) { return "part.state_out(" + std::to_string(index) + ","; }
  void keep_states(CudaWholeRoutine& text, const Routine& routine) {
    for (std::size_t i = 0; i < routine.states_then.size(); ++i) {
      const VariableId then = routine.states_then[i];
      if (text.places.is_at_place(then, state_place(i))) continue;
      text.stages.add_own(text.plan.ready(then).own, [=, this, &text] { write_state(text.plan.array(then), i); });
    }
  }

  void write_state(const std::string& array, std::size_t index) {
    out_.line("if (part.segment.states_out != nullptr) fill(part, n, " + array + ", part.state_out(" +
              std::to_string(index) + ", 0));");
  }

  std::uint32_t write_decoder() {
    const Routine& routine = program_.decode;
    CudaWholeRoutine text(program_, routine, out_, diagnostics_);
    for (std::uint32_t i = 0; i < routine.extracted.size(); ++i) {
      text.arrays.plan_section(routine.extracted[i], program_.sections[i].type, "payload + sections." + word(i));
    }
    text.arrays.plan_steps();
    const Term& given = *routine.result;
    const bool scatters =
        given.op == Op::kScatter && given.arguments.size() == 2 && given.arguments[1]->type().is_array();
    if (scatters && text.places.is_distinct(*given.arguments[0])) {
      const Term &places = *given.arguments[0], &values = *given.arguments[1];
      text.arrays.plan_term(places);
      text.arrays.plan_term(values);
      text.stages.add(0, [&] { out_.line("give_zeros(part);"); });
      const std::uint32_t stage = std::max({1u, text.plan.ready_to_share(places), text.plan.ready_to_share(values)});
      text.stages.add(stage, [&] {
        const std::string at = text.plan.array(places), from = text.plan.array(values);
        out_.source_line(given.at);
        out_.line("give_at(" + CudaNames::part_of(places.type()) + ", " + CudaNames::size(places.type()) + ", " + at +
                  ", " + from + ");");
      });
    } else {
      text.arrays.plan_term(given);
      text.stages.add(text.plan.ready(given).own, [&] {
        const std::string array = text.plan.array(given);
        out_.line("give(part, " + array + ");");
      });
    }
    text.stages.write("Decode", "", [&] { text.stages.clear_memory(); });
    return text.stages.count();
  }

  /// Returns true if the routine may read elements of other tiles.
  static bool reads_elsewhere(const Routine& routine) {
    bool any = false;
    for_each_term(routine, [&](const Term& each) {
      const bool by_element = each.op <= Op::kMap && each.op != Op::kElement;
      any |= !by_element && each.op != Op::kBlockReduce && each.op != Op::kSpread && each.op != Op::kRange;
    });
    return any;
  }

  std::uint32_t write_result() {
    const Routine& routine = *program_.result;
    CudaWholeRoutine text(program_, routine, out_, diagnostics_);
    text.arrays.plan_memory(routine.gradient, "in_global(part.segment.in)");
    plan_states(text, routine);
    text.arrays.plan_steps();
    text.arrays.plan_term(*routine.result);
    const std::string made = text.stages.memory("float", "made", "4 * n");
    text.stages.add_own(text.plan.ready(*routine.result).own, [&, made] {
      const std::string array = text.plan.array(*routine.result);
      out_.line("fill(part, n, " + array + ", " + made + ");");
    });
    keep_states(text, routine);
    // Comes last, as it may overwrite the operand, which the tile itself reads, or others, which then have to be done.
    text.stages.add_own(text.stages.count() - (reads_elsewhere(routine) ? 0 : 1), [&, made] {
      out_.line("__syncthreads();");
      out_.line("fill(part, n, Array<float>{" + made +
                "}, in_global(part.segment.out));  // last: it may be what was read");
    });
    text.stages.write("Result", "", [&] { text.stages.clear_memory(); });
    return text.stages.count();
  }

  const Program& program_;
  Writer& out_;
  Diagnostics& diagnostics_;
  bool keeps_residual_ = true;  ///< true if each of its encoders does
};

std::string kernel_name(const Program& program, const std::string& function) {
  return "casync_" + program.declares.name + "_" + function;
}

std::string capitalized(std::string word) {
  word[0] = static_cast<char>(word[0] - 'a' + 'A');
  return word;
}

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

void write_sizes(Writer& out, const Program& program, const CudaWhole& made) {
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

void write_table(Writer& out, const Program& program, const CudaWhole& made) {
  out.line("#ifndef __CUDACC_RTC__");
  out.line("/// For whoever is linked with this text.");
  out.open("extern \"C\" const WholeKernels* casync_" + program.declares.name + "_kernels()");
  out.line("static const WholeKernels kernels = {");
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

Result<CudaWhole> cuda_whole_text(const Program& program, const Source& source) {
  CASYNC_RETURN_IF_ERROR(check_parameters(program, source));
  if (program.synchronize) {
    return unimplemented(source.name() + ": `synchronize` is compiled by turns");
  }
  const std::string codec = program.declares.name;
  Diagnostics diagnostics(source);
  Writer out(source);
  CudaWhole made;
  made.codec = codec;
  open_codec(out, codec, {"rotation", "selection", "sorting", "whole_reducers"});
  out.line("");
  try {
    CudaWholeText(program, out, diagnostics).write(made);
  } catch (const CannotWriteCuda&) {
    return unimplemented(diagnostics.status().message());
  }
  for (const auto& [function, stages] : made.stages) {
    made.kernels.push_back(kernel_name(program, function));
    write_kernel(out, made.kernels.back(), function);
  }
  write_sizes(out, program, made);
  write_table(out, program, made);
  close_codec(out, codec);
  made.text = out.take();
  return made;
}

}  // namespace casync::compll
