// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/encoder_text.h"

#include <optional>

#include "compll/codegen/routine_text.h"
#include "compll/ir/schedule.h"

namespace casync::compll {
namespace {

/// struct Tensor, and a function for each pass of encode.
class EncoderText : RoutineText {
 public:
  EncoderText(const Program& program, const Lowered& lowered, Writer& out, Diagnostics& diagnostics)
      : RoutineText(program, lowered.encode.graph, lowered, out, diagnostics),
        plan_(schedule(graph_, outputs(lowered))) {}

  std::size_t write() {
    for (const Output& output : outputs(lowered_)) text_.keep(output.value);
    write_functions();
    write_tensor();
    for (std::size_t pass = 0; pass < plan_.passes.size(); ++pass) write_pass(pass);
    write_end();
    return plan_.passes.size();
  }

 private:
  static std::vector<Output> outputs(const Lowered& lowered) {
    std::vector<Output> all;
    for (std::uint32_t i = 0; i < lowered.encode.sections.size(); ++i) {
      all.push_back({Output::Kind::kSection, i, lowered.encode.sections[i]});
    }
    all.push_back({Output::Kind::kResidual, 0, lowered.encode.residual});
    return all;
  }

  std::string reducer(const Value& value) {
    const Value& argument = graph_[value.arguments.front()];
    const std::string one = ExpressionText::type(argument.type, false),
                      group = ExpressionText::type(argument.type, true);
    if (value.over != Domain::kElement) refuse(value.at, "a reduction of blocks");
    switch (value.reducer) {
      case Reducer::kMagnitude: return "Magnitude";
      case Reducer::kCount: return "Count";
      case Reducer::kSum: return argument.type.is_float() ? "Sum" : "IntegerSum<" + group + ", " + one + ">";
      case Reducer::kMin:
      case Reducer::kMax:
        if (argument.type == kDoubleType || argument.type.bits != 32) break;
        return std::string(value.reducer == Reducer::kMin ? "Minimum<" : "Maximum<") + group + ", " + one + ">";
      case Reducer::kUser:
        if (argument.type.bits != 32) break;
        return "Fold<" + group + ", " + one + ", Function" + std::to_string(value.function) + ">";
    }
    refuse(value.at, "this reduction");
  }

  /// The functions that the program reduces by.
  void write_functions() {
    for (std::size_t i = 0; i < graph_.functions().size(); ++i) {
      const ReducerFunction& function = graph_.functions()[i];
      ExpressionText text(function.graph);
      const std::string type = ExpressionText::type(function.graph[0].type, true);
      out_.open("struct Function" + std::to_string(i));
      out_.open("HWY_INLINE " + type + " operator()(" + type + " " + text.name(0) + ", " + type + " " + text.name(1) +
                ") const");
      for (ValueId id = 2; id < function.graph.values().size(); ++id) {
        const Value& value = function.graph[id];
        if (!text.has_line(id)) continue;
        out_.source_line(value.at);
        out_.line("const " + ExpressionText::type(value.type, value.domain == Domain::kElement) + " " + text.name(id) +
                  " = " + text.definition(id) + ";");
      }
      out_.line("return " + text.use(function.result, true) + ";");
      out_.close();
      out_.close(";");
      out_.line("");
    }
  }

  void write_tensor() {
    out_.line("/// What is reduced over the whole tensor.");
    out_.open("struct Tensor");
    out_.line("HWY_INLINE Tensor() {}");
    for (const Pass& pass : plan_.passes) {
      for (const Phase& phase : pass.phases) {
        for (const ValueId id : phase.reductions) {
          if (graph_[id].kind != Value::Kind::kReduce) continue;
          text_.keep(id);
          out_.line(reducer(graph_[id]) + " " + text_.name(id) + ";");
        }
      }
    }
    out_.close(";");
    out_.line("static_assert(sizeof(Tensor) <= kMostTensorBytes);");
    out_.line("");
  }

  /// What a reduction was fed with is over when its result is asked for; the value it begins with is not.
  static void need_arguments(const Value& value, std::vector<bool>& needed) {
    for (std::size_t i = value.kind == Value::Kind::kReduce ? 1 : 0; i < value.arguments.size(); ++i) {
      needed[value.arguments[i]] = true;
    }
  }

  void define_sections() {
    for (std::uint32_t i = 0; i < program_.sections.size(); ++i) {
      out_.line("std::byte* const " + section(i) + " = sections[" + std::to_string(i) + "];");
    }
  }

  void write_pass(std::size_t number) {
    const Pass& pass = plan_.passes[number];
    out_.forget_line();
    out_.line("template <class Input>");
    out_.open("HWY_INLINE bool pass_" + std::to_string(number) +
              "(const GeneratedTile& tile, Tensor& tensor, const Input& input, float* scratch,\n"
              "    std::byte* const* sections, float* residual, Write mode)");
    std::vector<bool> needed(graph_.values().size(), false);
    for (const Phase& phase : pass.phases) {
      for (const ValueId id : phase.elements) needed[id] = true;
      for (const ValueId id : phase.of_block) needed[id] = true;
      for (const ValueId id : phase.reductions) needed[graph_[id].arguments.front()] = true;
      for (const Output& output : phase.stores) needed[output.value] = true;
    }
    for (ValueId id = 0; id < needed.size(); ++id) {  // not below what the tensor has reduced: that is over
      if (needed[id] && graph_[id].domain != Domain::kTensor) {
        for (const ValueId argument : graph_[id].arguments) needed[argument] = true;
      }
    }
    for (std::size_t id = needed.size(); id-- > 0;) {
      const Value& value = graph_[static_cast<ValueId>(id)];
      if (!needed[id] || value.domain != Domain::kTensor) continue;
      need_arguments(value, needed);
    }
    define_sections();
    define_tensor_values(needed);
    out_.line("const size_t block = " + block_size() + ";");
    if (!top_of_block(pass)) out_.line("Magnitude top;  // of everything: says whether all is finite");
    if (top_of_block(pass)) out_.line("bool finite = true;");
    out_.open("for (size_t b = 0, entry = 0; b < tile.count; b += block, ++entry)");
    out_.line("const size_t end = std::min(b + block, tile.count);");
    const bool scratch = keeps_input(pass);
    for (std::size_t phase = 0; phase < pass.phases.size(); ++phase) {
      write_phase(pass.phases[phase], phase, scratch, top_of_block(pass), phase + 1 == pass.phases.size());
    }
    out_.close();
    for (std::uint32_t i = 0; i < program_.sections.size(); ++i) out_.line("static_cast<void>(" + section(i) + ");");
    out_.line("static_cast<void>(tensor), static_cast<void>(scratch), static_cast<void>(residual);");
    out_.line("static_cast<void>(mode);");
    out_.line(top_of_block(pass) ? "return finite;" : "return top.result() <= std::numeric_limits<float>::max();");
    out_.close();
    out_.line("");
  }

  /// The largest magnitude of each block of the input, where the program itself asks for it: that says, too, whether
  /// all is finite.
  std::optional<ValueId> top_of_block(const Pass& pass) const {
    for (const ValueId id : pass.phases.front().reductions) {
      const Value& value = graph_[id];
      const bool magnitude = value.kind == Value::Kind::kBlockReduce && value.reducer == Reducer::kMagnitude;
      if (magnitude && is_input(value.arguments.front())) return id;
    }
    return std::nullopt;
  }
  bool is_input(ValueId id) const { return graph_[id].kind == Value::Kind::kInput; }
  static bool has_loop(const Phase& phase) {
    return !phase.elements.empty() || !phase.stores.empty() || !phase.reductions.empty();
  }

  /// Whether a later phase of the pass needs the input again.
  bool keeps_input(const Pass& pass) const {
    for (std::size_t i = 1; i < pass.phases.size(); ++i) {
      for (const ValueId id : pass.phases[i].elements) {
        if (is_input(id)) return true;
      }
    }
    return false;
  }

  void write_phase(const Phase& phase, std::size_t number, bool scratch, std::optional<ValueId> top, bool last) {
    for (const ValueId id : phase.of_block) {
      if (graph_[id].kind == Value::Kind::kBlockReduce) text_.keep(id);
      if (!text_.has_line(id)) continue;
      const Value& value = graph_[id];
      if (value.kind == Value::Kind::kBlockReduce)
        define(id, "reduced_" + std::to_string(id) + result_of(value));
      else if (value.kind == Value::Kind::kIndex)
        define(id, "static_cast<" + ExpressionText::type(value.type, false) + ">(tile.first / block + entry)");
      else if (value.arguments.empty())
        refuse(value.at, "a random number for each block");
      else
        define(id, text_.definition(id));
      if (top == id) out_.line("finite &= is_finite(" + text_.name(id) + ");");
    }
    for (const Output& output : phase.block_stores) {
      out_.line("store_one<" + std::to_string(program_.sections[output.section].type.element.bits) + ">(" +
                text_.use(output.value, false) + ", " + section(output.section) + ", entry);");
    }
    if (!has_loop(phase)) return;
    for (const ValueId id : phase.reductions) {
      if (graph_[id].kind == Value::Kind::kBlockReduce)
        out_.line(reducer(graph_[id]) + " reduced_" + std::to_string(id) + ";");
    }
    out_.open("for (size_t i = b; i < end; i += kGroup)");
    out_.line("const size_t rest = std::min(end - i, kGroup);");
    write_loop(phase, number, scratch, top.has_value(), last);
    out_.close();
    out_.forget_line();
  }

  void write_loop(const Phase& phase, std::size_t number, bool scratch, bool top, bool last) {
    const ValueId input = lowered_.encode.input;
    const bool reads = std::find(phase.elements.begin(), phase.elements.end(), input) != phase.elements.end();
    text_.keep(input);
    if (number == 0) {
      // The first loop of a pass brings every element in, whether it computes with it or not: all have to be finite.
      define(input, "input.load(i, rest)");
      if (!top) out_.line("top.take(" + text_.name(input) + ", rest);");
      if (scratch) out_.line("store_floats(" + text_.name(input) + ", scratch + i);");
    } else if (reads) {
      define(input, scratch ? "load_floats(scratch + i)" : "input.load(i, rest)");
    }
    if (scratch && last) out_.line("input.fetch_next(i);");
    for (const Output& output : phase.stores) {
      if (output.kind != Output::Kind::kSection) continue;
      out_.line("fetch_section<" + std::to_string(program_.sections[output.section].type.element.bits) + ">(" +
                section(output.section) + ", i);");
    }
    for (const ValueId id : phase.elements) {
      const Value& value = graph_[id];
      check_element(value);
      if (id == input || !text_.has_line(id)) continue;
      if (value.kind == Value::Kind::kIndex)
        define(id, index(value));
      else if (value.arguments.empty())
        define(id, random(value));
      else
        define(id, text_.definition(id));
    }
    for (const ValueId id : phase.reductions) {
      const Value& value = graph_[id];
      const std::string to =
          value.kind == Value::Kind::kReduce ? "tensor." + text_.name(id) : "reduced_" + std::to_string(id);
      out_.line(to + ".take(" + text_.use(value.arguments.front(), true) + ", rest);");
    }
    for (const Output& output : phase.stores) {
      const std::string value = text_.use(output.value, true);
      if (output.kind == Output::Kind::kResidual) {
        out_.line("write_residual(" + value + ", residual, i, rest, mode);");
      } else {
        out_.line("store_section<" + std::to_string(program_.sections[output.section].type.element.bits) + ">(" +
                  value + ", " + section(output.section) + ", i, rest);");
      }
    }
  }

  /// Behind the last pass: sections with one entry for the tensor.
  void write_end() {
    out_.open("HWY_INLINE void end(const GeneratedTile& tile, Tensor& tensor, std::byte* const* sections)");
    std::vector<bool> needed(graph_.values().size(), false);
    for (const Output& output : plan_.tensor_stores) needed[output.value] = true;
    for (std::size_t id = needed.size(); id-- > 0;) {
      const Value& value = graph_[static_cast<ValueId>(id)];
      if (needed[id]) need_arguments(value, needed);
    }
    define_tensor_values(needed);
    for (const Output& output : plan_.tensor_stores) {
      out_.line("store_one<" + std::to_string(program_.sections[output.section].type.element.bits) + ">(" +
                text_.use(output.value, false) + ", sections[" + std::to_string(output.section) + "], 0);");
    }
    out_.line("static_cast<void>(tile), static_cast<void>(tensor), static_cast<void>(sections);");
    out_.close();
    out_.line("");
  }

  Schedule plan_;
};

}  // namespace

std::size_t write_encoder(const Program& program, const Lowered& lowered, Writer& out, Diagnostics& diagnostics) {
  return EncoderText(program, lowered, out, diagnostics).write();
}

}  // namespace casync::compll
