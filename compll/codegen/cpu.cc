// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu.h"

#include <algorithm>
#include <charconv>

#include "compll/codegen/expression_text.h"
#include "compll/codegen/writer.h"
#include "compll/ir/schedule.h"
#include "compll/lang/diagnostic.h"

namespace casync::compll {
namespace {

struct CannotWrite {};

/// What the texts of encode and decode share.
class RoutineText {
 protected:
  RoutineText(const Program& program, const Graph& graph, const Lowered& lowered, Writer& out, Diagnostics& diagnostics)
      : program_(program), graph_(graph), lowered_(lowered), out_(out), diagnostics_(diagnostics), text_(graph) {}

  [[noreturn]] void refuse(Span at, const std::string& what) {
    diagnostics_.add(at, what + " cannot be compiled for the CPU, only interpreted");
    throw CannotWrite();
  }

  std::string block_size() const {
    if (!lowered_.block) return "tile.count";
    const Constant& block = *lowered_.block;
    return block.parameter ? "static_cast<size_t>(tile.parameters[" + std::to_string(*block.parameter) + "])"
                           : "size_t{" + std::to_string(block.value) + "}";
  }

  /// A value's line: `const float scale_27 = ...;`.
  void define(ValueId id, const std::string& right) {
    const Value& value = graph_[id];
    out_.source_line(value.at);
    out_.line("const " + ExpressionText::type(value.type, value.domain == Domain::kElement) + " " + text_.name(id) +
              " = " + right + ";");
  }

  /// The values of the tensor that `needed` are made of, in their order, whatever pass has made them.
  void define_tensor_values(const std::vector<bool>& needed) {
    for (ValueId id = 0; id < graph_.values().size(); ++id) {
      const Value& value = graph_[id];
      if (!needed[id] || value.domain != Domain::kTensor || !text_.has_line(id)) continue;
      switch (value.kind) {
        case Value::Kind::kParameter: define(id, parameter(value)); break;
        case Value::Kind::kCount: define(id, count(value)); break;
        case Value::Kind::kReduce: define(id, "tensor." + text_.name(id) + ".result()"); break;
        case Value::Kind::kSection: define(id, load_one(value, "0")); break;
        default: define(id, text_.definition(id)); break;
      }
    }
  }

  /// All that these are made of.
  std::vector<bool> below(std::vector<bool> needed) const {
    for (std::size_t id = needed.size(); id-- > 0;) {
      if (!needed[id]) continue;
      for (const ValueId argument : graph_[static_cast<ValueId>(id)].arguments) needed[argument] = true;
    }
    return needed;
  }

  std::string parameter(const Value& value) const {
    return "static_cast<" + ExpressionText::type(value.type, false) + ">(tile.parameters[" +
           std::to_string(value.parameter) + "])";
  }
  std::string count(const Value& value) const {
    if (value.over == Domain::kElement) return "static_cast<uint32_t>(tile.n)";
    return "static_cast<uint32_t>((tile.n + " + block_size() + " - 1) / " + block_size() + ")";
  }
  std::string section(std::uint32_t index) const { return program_.sections[index].name + "_at"; }
  std::string load_one(const Value& value, const std::string& index) const {
    const std::string at = "(" + section(value.section) + ", " + index + ")";
    if (value.type == kFloatType) return "load_one_float" + at;
    const std::string kind = value.type.kind == ScalarType::Kind::kInt ? "int" : "uint";
    return "load_one_" + kind + "<" + std::to_string(value.type.bits) + ">" + at;
  }
  std::string load_group(const Value& value) const {
    const std::string at = "(" + section(value.section) + ", i, rest)";
    if (value.type == kFloatType) return "load_float" + at;
    const std::string kind = value.type.kind == ScalarType::Kind::kInt ? "int" : "uint";
    return "load_" + kind + "<" + std::to_string(value.type.bits) + ">" + at;
  }
  std::string random(const Value& value) const {
    const std::string function = value.op == Op::kRandomUniform ? "uniform_group" : "random_group";
    return function + "(tile.random, tile.first + i, " + std::to_string(value.purpose) + ")";
  }
  std::string index(const Value& value) const {
    return "index_group<" + ExpressionText::type(value.type, true) + ">(tile.first + i)";
  }

  void check_element(const Value& value) {
    if (value.type != kDoubleType && !uses_double(value)) return;
    if (value.kind != Value::Kind::kCompute) return;
    const bool arithmetic =
        value.op == Op::kAdd || value.op == Op::kSubtract || value.op == Op::kMultiply || value.op == Op::kDivide;
    const bool widens =
        value.op == Op::kConvert && value.type == kDoubleType && graph_[value.arguments[0]].type != kBoolType;
    const bool narrows = value.op == Op::kConvert && value.type == kFloatType;
    if (!arithmetic && !widens && !narrows) refuse(value.at, "this operation on a double of each element");
  }
  bool uses_double(const Value& value) const {
    return std::any_of(value.arguments.begin(), value.arguments.end(), [&](ValueId id) {
      return graph_[id].type == kDoubleType && graph_[id].domain == Domain::kElement;
    });
  }

  const Program& program_;
  const Graph& graph_;
  const Lowered& lowered_;
  Writer& out_;
  Diagnostics& diagnostics_;
  ExpressionText text_;
};

/// struct Decoder: from the sections of one payload to sixteen elements.
class DecoderText : RoutineText {
 public:
  DecoderText(const Program& program, const Lowered& lowered, Writer& out, Diagnostics& diagnostics)
      : RoutineText(program, lowered.decode.graph, lowered, out, diagnostics) {}

  void write() {
    const Schedule plan = schedule(graph_, {{Output::Kind::kResult, 0, lowered_.decode.result}});
    if (plan.passes.size() != 1 || plan.passes[0].phases.size() != 1 || !plan.passes[0].phases[0].reductions.empty()) {
      refuse(graph_[lowered_.decode.result].at, "a `decode` that reduces");
    }
    const Phase& phase = plan.passes[0].phases[0];
    std::vector<bool> needed(graph_.values().size(), false);
    for (const ValueId id : phase.elements) needed[id] = true;
    for (const ValueId id : phase.of_block) needed[id] = true;
    needed[lowered_.decode.result] = true;
    needed = below(needed);
    text_.keep(lowered_.decode.result);
    out_.open("struct Decoder");
    out_.line("static constexpr size_t kSections = " + std::to_string(program_.sections.size()) + ";");
    out_.line("static size_t block([[maybe_unused]] const GeneratedTile& tile) { return " + block_size() + "; }");
    out_.line("");
    write_begin(needed);
    write_enter(phase);
    write_fetch(phase);
    write_at(phase);
    write_members(phase, needed);
    out_.close(";");
  }

 private:
  void write_begin(const std::vector<bool>& needed) {
    out_.open("HWY_INLINE void begin(const GeneratedTile& tile, const std::byte* const* sections)");
    for (std::uint32_t i = 0; i < program_.sections.size(); ++i) {
      out_.line(section(i) + " = sections[" + std::to_string(i) + "];");
    }
    for (ValueId id = 0; id < graph_.values().size(); ++id) {
      const Value& value = graph_[id];
      if (!needed[id] || value.domain != Domain::kTensor || !text_.has_line(id)) continue;
      const bool section_value = value.kind == Value::Kind::kSection;
      out_.line(text_.name(id) + " = " +
                (section_value                           ? load_one(value, "0")
                 : value.kind == Value::Kind::kParameter ? parameter(value)
                 : value.kind == Value::Kind::kCount     ? count(value)
                                                         : text_.definition(id)) +
                ";");
    }
    out_.line("static_cast<void>(tile);");
    out_.close();
    out_.line("");
  }

  void write_enter(const Phase& phase) {
    out_.line("/// Before the elements of a block.");
    out_.open("HWY_INLINE void enter(const GeneratedTile& tile, size_t entry)");
    for (const ValueId id : phase.of_block) {
      if (!text_.has_line(id)) continue;
      const Value& value = graph_[id];
      out_.source_line(value.at);
      const std::string right =
          value.kind == Value::Kind::kSection ? load_one(value, "entry")
          : value.kind == Value::Kind::kIndex
              ? "static_cast<" + ExpressionText::type(value.type, false) + ">(tile.first / block(tile) + entry)"
              : text_.definition(id);
      out_.line(text_.name(id) + " = " + right + ";");
    }
    out_.line("static_cast<void>(tile), static_cast<void>(entry);");
    out_.close();
    out_.line("");
    out_.forget_line();
  }

  void write_fetch(const Phase& phase) {
    out_.open("HWY_INLINE void fetch(size_t i) const");
    for (const ValueId id : phase.elements) {
      const Value& value = graph_[id];
      if (value.kind != Value::Kind::kSection) continue;
      out_.line("fetch_section<" + std::to_string(value.type.bits) + ">(" + section(value.section) + ", i);");
    }
    out_.close();
    out_.line("");
  }

  void write_at(const Phase& phase) {
    out_.open("HWY_INLINE Float at(const GeneratedTile& tile, size_t i, size_t rest) const");
    for (const ValueId id : phase.elements) {
      const Value& value = graph_[id];
      check_element(value);
      if (!text_.has_line(id)) continue;
      if (value.kind == Value::Kind::kSection)
        define(id, load_group(value));
      else if (value.kind == Value::Kind::kIndex)
        define(id, index(value));
      else if (value.arguments.empty())
        define(id, random(value));
      else
        define(id, text_.definition(id));
    }
    out_.line("static_cast<void>(tile), static_cast<void>(i), static_cast<void>(rest);");
    out_.line("return " + text_.use(lowered_.decode.result, true) + ";");
    out_.close();
    out_.line("");
  }

  void write_members(const Phase& phase, const std::vector<bool>& needed) {
    for (std::uint32_t i = 0; i < program_.sections.size(); ++i) out_.line("const std::byte* " + section(i) + ";");
    for (ValueId id = 0; id < graph_.values().size(); ++id) {
      const Value& value = graph_[id];
      const bool block = std::find(phase.of_block.begin(), phase.of_block.end(), id) != phase.of_block.end();
      if (!text_.has_line(id) || !(block || (needed[id] && value.domain == Domain::kTensor))) continue;
      out_.line(ExpressionText::type(value.type, false) + " " + text_.name(id) + ";");
    }
  }
};

/// struct Tensor, and a function for each pass of encode.
class EncoderText : RoutineText {
 public:
  EncoderText(const Program& program, const Lowered& lowered, Writer& out, Diagnostics& diagnostics)
      : RoutineText(program, lowered.encode.graph, lowered, out, diagnostics),
        plan_(schedule(graph_, outputs(lowered))) {}

  const Schedule& plan() const { return plan_; }

  void write() {
    for (const Output& output : outputs(lowered_)) text_.keep(output.value);
    write_tensor();
    for (std::size_t pass = 0; pass < plan_.passes.size(); ++pass) write_pass(pass);
    write_end();
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
      case Reducer::kUser: break;
    }
    refuse(value.at, "this reduction");
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
      if (!needed[id] || value.domain != Domain::kTensor || value.kind == Value::Kind::kReduce) continue;
      for (const ValueId argument : value.arguments) needed[argument] = true;
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

 public:
  /// Whether a later phase of the pass needs the input again.
  bool keeps_input(const Pass& pass) const {
    for (std::size_t i = 1; i < pass.phases.size(); ++i) {
      for (const ValueId id : pass.phases[i].elements) {
        if (is_input(id)) return true;
      }
    }
    return false;
  }

 private:
  void write_phase(const Phase& phase, std::size_t number, bool scratch, std::optional<ValueId> top, bool last) {
    for (const ValueId id : phase.of_block) {
      if (graph_[id].kind == Value::Kind::kBlockReduce) text_.keep(id);
      if (!text_.has_line(id)) continue;
      const Value& value = graph_[id];
      if (value.kind == Value::Kind::kBlockReduce)
        define(id, "reduced_" + std::to_string(id) + ".result()");
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
      if (!needed[id] || value.kind == Value::Kind::kReduce) continue;
      for (const ValueId argument : value.arguments) needed[argument] = true;
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

void write_entry_points(Writer& out, const Schedule& plan) {
  out.open(
      "void begin_pass(std::uint32_t pass, const GeneratedTile& all, std::byte* tensor, std::byte* const* sections)");
  out.line("if (pass == 0) new (tensor) Tensor;");
  out.line("if (pass == " + std::to_string(plan.passes.size()) +
           ") end(all, *reinterpret_cast<Tensor*>(tensor), sections);");
  out.close();
  out.line("");
  out.open(
      "bool encode_tile(std::uint32_t pass, const GeneratedTile& tile, std::byte* tensor, const Scaled& source,\n"
      "                 float* scratch, std::byte* const* sections, float* residual, Write mode)");
  out.line("Tensor& known = *reinterpret_cast<Tensor*>(tensor);");
  out.open("return with_input(source, tile.count, scratch, [&](const auto& input) HWY_ATTR");
  for (std::size_t pass = plan.passes.size() - 1; pass > 0; --pass) {
    const std::string number = std::to_string(pass);
    out.line("if (pass == " + number + ") return pass_" + number +
             "(tile, known, input, scratch, sections, residual, mode);");
  }
  out.line("static_cast<void>(pass);");
  out.line("return pass_0(tile, known, input, scratch, sections, residual, mode);");
  out.close(");");
  out.close();
  out.line("");
  out.open(
      "void decode_tile(const GeneratedTile& tile, const std::byte* const* sections, std::size_t payloads, float* "
      "out,\n"
      "                 Write mode)");
  out.line("decode_sums<Decoder>(tile, sections, payloads, out, mode);");
  out.close();
}

std::string section_list(const Program& program) {
  std::string list;
  for (const Section& section : program.sections) {
    const bool block = section.type.extent && section.type.extent->kind == Extent::Kind::kBlocks;
    const std::string over = !section.type.extent ? "kTensor" : block ? "kBlock" : "kElement";
    list += (list.empty() ? "" : ", ") + ("{GeneratedSection::Over::" + over) + ", " +
            std::to_string(section.type.element.bits) + "}";
  }
  return list;
}

std::string quoted(const std::string& text) {
  std::string all = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') all += '\\';
    all += c;
  }
  return all + "\"";
}

std::string number(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}

std::string flag(bool value) { return value ? "true" : "false"; }

/// What the program says about its codec, as the declaration's fields.
void write_declaration(Writer& out, const Program& program, const Lowered& lowered) {
  const Declarations& says = program.declares;
  const std::string block = lowered.block && !lowered.block->parameter ? std::to_string(lowered.block->value) : "0";
  const std::string parameter =
      lowered.block && lowered.block->parameter ? std::to_string(*lowered.block->parameter) : "-1";
  out.line("{" + quoted(says.name) + ", " + quoted(says.summary) + ",");
  out.line(" " + quoted(says.source) + ",");
  out.line(" " + std::to_string(says.number) + ", " + std::to_string(says.version) + ", " + flag(says.contractive) +
           ", " + flag(says.unbiased) + ", " + flag(says.feedback) + ", " + block + ", " + parameter + ", " +
           std::to_string(program.parameters.size()) + ", {");
  for (const ProgramParameter& each : program.parameters) {
    const double least = each.fixed ? each.initial : each.least, most = each.fixed ? each.initial : each.most;
    out.line("  {" + quoted(each.name) + ", " + quoted(each.meaning) + ", " + number(each.initial) + ", " +
             number(least) + ", " + number(most) + ", " + number(each.step) + ", " + flag(!each.type.is_float()) +
             "},");
  }
  out.line(" }},");
}

}  // namespace

std::string generated_name(const std::string& codec) { return "generated_" + codec; }

Result<std::string> cpu_text(const Program& program, const Lowered& lowered, const Source& source,
                             const std::string& include) {
  Diagnostics diagnostics(source);
  Writer out(source);
  out.line("// Written by compllc from " + source.name() + ". Changes belong there.");
  out.line("#undef HWY_TARGET_INCLUDE");
  out.line("#define HWY_TARGET_INCLUDE \"" + include + "\"");
  out.line("#include <hwy/foreach_target.h>");
  out.line("");
  out.line("#include \"compll/ops/cpu/program-inl.h\"");
  out.line("");
  out.line("HWY_BEFORE_NAMESPACE();");
  out.line("namespace casync::compll::HWY_NAMESPACE {");
  out.line("namespace {");
  out.line("");
  bool keeps_input = false;
  std::size_t passes = 0;
  try {
    DecoderText(program, lowered, out, diagnostics).write();
    out.line("");
    EncoderText encoder(program, lowered, out, diagnostics);
    encoder.write();
    for (const Pass& pass : encoder.plan().passes) keeps_input = keeps_input || encoder.keeps_input(pass);
    passes = encoder.plan().passes.size();
    write_entry_points(out, encoder.plan());
  } catch (const CannotWrite&) {
    return unimplemented(diagnostics.status().message());
  }
  out.line("");
  out.line("}  // namespace");
  out.line("}  // namespace casync::compll::HWY_NAMESPACE");
  out.line("HWY_AFTER_NAMESPACE();");
  out.line("");
  out.line("#if HWY_ONCE");
  out.line("namespace casync::compll {");
  out.line("HWY_EXPORT(begin_pass);");
  out.line("HWY_EXPORT(encode_tile);");
  out.line("HWY_EXPORT(decode_tile);");
  out.line("");
  out.line("extern \"C\" const GeneratedCodec* " + generated_name(program.declares.name) + "() {");
  out.line("  static const GeneratedCodec codec = {");
  out.line("      kGeneratedVersion,");
  write_declaration(out, program, lowered);
  out.line("      " + std::to_string(passes) + ", " + std::to_string(program.sections.size()) + ", " +
           (keeps_input ? "true" : "false") + ", {" + section_list(program) + "},");
  out.line("      [](auto... all) { HWY_DYNAMIC_DISPATCH(begin_pass)(all...); },");
  out.line("      [](auto... all) { return HWY_DYNAMIC_DISPATCH(encode_tile)(all...); },");
  out.line("      [](auto... all) { HWY_DYNAMIC_DISPATCH(decode_tile)(all...); }};");
  out.line("  return &codec;");
  out.line("}");
  out.line("}  // namespace casync::compll");
  out.line("#endif  // HWY_ONCE");
  return out.take();
}

}  // namespace casync::compll
