// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/whole_text.h"

#include <algorithm>

#include "compll/codegen/cpu/whole_routine.h"
#include "compll/codegen/text/operation_text.h"
#include "compll/ops/trits.h"

namespace casync::compll {
namespace {

/// The function that stores codes: one element, all of a section, or sixteen.
std::string store(const std::string& what, ScalarType type) {
  if (type != kTritType) return "store_" + what + "<" + std::to_string(type.bits) + ">";
  return what == "one" ? "store_one_trit" : what == "all" ? "store_all_trits" : "store_trits_at";
}

class WholeText {
 public:
  WholeText(const Program& program, Writer& out, Diagnostics& diagnostics)
      : program_(program), out_(out), diagnostics_(diagnostics) {}

  std::vector<FunctionLoops> write() {
    write_sized();
    write_encoder("encode", program_.encode);
    if (program_.merge) write_encoder("merge", *program_.merge);
    gives_list(program_) ? write_list_decoder() : write_decoder();
    if (program_.result) write_result();
    return std::move(functions_);
  }

 private:
  void begin(WholeRoutine& text) {
    out_.line("[[maybe_unused]] const size_t n = v.n;");
    out_.line("[[maybe_unused]] Workspace& memory = *v.memory;");
    text.define_sizes();
  }
  void end(const std::string& name, const WholeRoutine& text) {
    functions_.push_back({name, text.loops.written()});
    out_.close();
    out_.line("");
  }

  void write_sized() {
    out_.open("Elements sized(uint32_t section, const GeneratedVector& v)");
    out_.line("const size_t n = v.n;");
    Routine nothing;
    WholeRoutine(program_, nothing, out_, diagnostics_).define_sizes();
    for (std::size_t i = 0; i < program_.sections.size(); ++i) {
      const Type& type = program_.sections[i].type;
      const bool sized =
          type.extent && (type.extent->kind == Extent::Kind::kSized || type.extent->kind == Extent::Kind::kFixed);
      if (sized) out_.line("if (section == " + std::to_string(i) + ") return " + WholeNames::size(type) + ";");
    }
    out_.line("static_cast<void>(section);");
    out_.line("return n;");
    out_.close();
    out_.line("");
  }

  void write_encoder(const std::string& name, const Routine& routine) {
    WholeRoutine text(program_, routine, out_, diagnostics_);
    out_.open("bool " + name +
              "(const GeneratedVector& v, const Scaled& source, float* added, const GeneratedStates& states,\n"
              "            std::byte* const* sections)");
    begin(text);
    want_states(text, routine);
    text.bind_gradient(routine.gradient);
    bind_states(text, routine);
    text.write_steps();
    std::vector<std::string> behind;
    for (std::size_t i = 0; i < routine.sections.size(); ++i) {
      const Type& type = program_.sections[i].type;
      const bool over_elements = type.extent && type.extent->kind == Extent::Kind::kElements;
      const std::string to = "sections[" + std::to_string(i) + "]";
      if (over_elements) {
        const std::string array = text.arrays.array(*routine.sections[i]);
        text.loops.add("section `" + program_.sections[i].name + "`",
                       store("codes_at", type.element) + "(" + array + "(i), " + to + ", i);", array,
                       bits_per_element(type.element.bits) / 8);
      }
    }
    keep_states(text, routine);
    text.loops.write();
    for (std::size_t i = 0; i < routine.sections.size(); ++i) {
      const Type& type = program_.sections[i].type;
      const std::string to = "sections[" + std::to_string(i) + "]";
      if (!type.is_array()) {
        const std::string value = text.values.scalar(*routine.sections[i]);
        const bool is_bool = type.element == kBoolType;
        out_.line(store("one", type.element) + "(" + (is_bool ? "to_uint(" + value + ")" : value) + ", " + to +
                  ", 0);");
      } else if (type.extent->kind != Extent::Kind::kElements) {
        out_.line(store("all", type.element) + "(" + WholeNames::size(type) + ", " +
                  text.arrays.whole_array(*routine.sections[i]) + ", " + to + ");");
      }
    }
    out_.line("hwy::FlushStream();");
    out_.line("return " + finite_text(program_, "finite.result()") + ";");
    end(name, text);
  }

  static std::string state_at(std::size_t i) { return "states.in + " + std::to_string(i) + " * states.stride"; }

  void want_states(WholeRoutine& text, const Routine& routine) {
    for (std::size_t i = 0; i < routine.states_then.size(); ++i) {
      text.places.want(routine.states_then[i], "state_memory(n, states, " + std::to_string(i) + ", memory)");
    }
    out_.line("static_cast<void>(states);");
  }
  void bind_states(WholeRoutine& text, const Routine& routine) {
    for (std::size_t i = 0; i < routine.states.size(); ++i) text.bind_memory(routine.states[i], state_at(i));
  }
  /// Stores the states that were not made at their places.
  void keep_states(WholeRoutine& text, const Routine& routine) {
    for (std::size_t i = 0; i < routine.states_then.size(); ++i) {
      const VariableId then = routine.states_then[i];
      const bool first =
          std::find(routine.states_then.begin(), routine.states_then.end(), then) - routine.states_then.begin() ==
          static_cast<std::ptrdiff_t>(i);
      if (first && text.places.is_made(then)) continue;
      const std::string at = "state" + std::to_string(i), array = text.names.name(then);
      out_.line("float* const " + at + " = state_memory(n, states, " + std::to_string(i) + ", memory);");
      text.loops.add("state `" + program_.states[i].name + "`", "put(" + array + "(i), " + at + ", Write::kPlain, i);",
                     array, 4);
    }
  }

  void begin_decoder(WholeRoutine& text) {
    begin(text);
    for (std::size_t i = 0; i < program_.decode.extracted.size(); ++i) {
      text.bind_section(program_.decode.extracted[i], program_.sections[i].type, "sections[" + std::to_string(i) + "]");
    }
    text.write_steps();
  }

  /// Writes one function that finds places and values; the caller uses them.
  void write_list_decoder() {
    const Term& given = *program_.decode.result;
    WholeRoutine text(program_, program_.decode, out_, diagnostics_);
    out_.line("template <class Take>");
    out_.open("void decode_list(const GeneratedVector& v, const std::byte* const* sections, const Take& take)");
    begin_decoder(text);
    const std::string places = text.arrays.whole_array(*given.arguments[0]), values = text.values.values(given);
    out_.line("take(" + WholeNames::size(given.arguments[0]->type()) + ", " + places + ", " + values + ");");
    text.loops.note_alone("zeros, then values at their places", places, 4);
    end("decode", text);

    const std::string take =
        "decode_list(v, sections, [&](size_t count, const auto& places, const auto& values) "
        "COMPLL_INLINE {";
    out_.open("void decode(const GeneratedVector& v, const std::byte* const* sections, float* out, Give how)");
    out_.line(take);
    out_.line(std::string("  give_scattered<") + (is_distinct(*given.arguments[0]) ? "true" : "false") +
              ">(v.n, count, places, values, out, how, *v.memory);");
    out_.line("});");
    out_.close();
    out_.line("");
    out_.open("ListedVector list(const GeneratedVector& v, const std::byte* const* sections)");
    out_.line("ListedVector listed;");
    out_.line(take);
    out_.line("  listed = listed_vector(count, places, values, *v.memory);");
    out_.line("});");
    out_.line("return listed;");
    out_.close();
    out_.line("");
  }

  void write_decoder() {
    const Routine& routine = program_.decode;
    WholeRoutine text(program_, routine, out_, diagnostics_);
    out_.open("void decode(const GeneratedVector& v, const std::byte* const* sections, float* out, Give how)");
    begin_decoder(text);
    const std::string array = text.arrays.array(*routine.result);
    out_.line("const Write mode = mode_of(out, n, how);");
    text.loops.add_last("elements are given", "give_sixteen(" + array + "(i), out, how, mode, i);", array, 4);
    text.loops.write();
    out_.line("hwy::FlushStream();");
    end("decode", text);
  }

  /// Returns true if no place occurs twice: the places come from a section that an operator has made so.
  bool is_distinct(const Term& places) const {
    if (places.op != Op::kVariable) return false;
    for (std::size_t i = 0; i < program_.decode.extracted.size(); ++i) {
      if (program_.decode.extracted[i] != places.variable) continue;
      return picks(program_.encode, *program_.encode.sections[i]) &&
             (!program_.merge || picks(*program_.merge, *program_.merge->sections[i]));
    }
    return false;
  }
  static bool picks(const Routine& routine, const Term& term) {
    if (operation_of(term.op).traits.gives_distinct) return true;
    if (term.op != Op::kVariable) return false;
    for (const Step& step : routine.steps) {
      if (step.variables.size() == 1 && step.variables.front() == term.variable) return picks(routine, *step.value);
    }
    return false;
  }

  void write_result() {
    const Routine& routine = *program_.result;
    WholeRoutine text(program_, routine, out_, diagnostics_);
    out_.open("void result(const GeneratedVector& v, const float* values, const GeneratedStates& states, float* out)");
    begin(text);
    want_states(text, routine);
    text.bind_memory(routine.gradient, "values");
    bind_states(text, routine);
    text.write_steps();
    const std::string array = text.arrays.array(*routine.result);
    if (text.picks_elements) {
      keep_states(text, routine);
      text.loops.write();
      out_.line("fill(n, kept<float>(n, " + array + ", memory), out);  // last: it may be what was read");
      text.loops.note_alone("elements are made", array, 4);
      text.loops.note_alone("elements are copied", "", 8);
    } else {
      keep_states(text, routine);
      text.loops.add_last("elements are made",
                          "put(" + array + "(i), out, Write::kPlain, i);  // it may be what was read", array, 4);
      text.loops.write();
    }
    out_.line("hwy::FlushStream();");
    end("result", text);
  }

  const Program& program_;
  Writer& out_;
  Diagnostics& diagnostics_;
  std::vector<FunctionLoops> functions_;
};

}  // namespace

bool gives_list(const Program& program) {
  const Term& given = *program.decode.result;
  return given.op == Op::kScatter && given.arguments.size() == 2;
}

std::vector<FunctionLoops> write_whole(const Program& program, Writer& out, Diagnostics& diagnostics) {
  return WholeText(program, out, diagnostics).write();
}

}  // namespace casync::compll
