// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/decoder_text.h"

#include <algorithm>
#include <optional>

#include "compll/codegen/cpu/routine_text.h"
#include "compll/codegen/cpu/transform_arrays.h"
#include "compll/ir/tiles/schedule.h"

namespace casync::compll {
namespace {

/// Writes struct Decoder: from the sections of one payload to sixteen elements.
class DecoderText : RoutineText {
 public:
  DecoderText(const Program& program, const Lowered& lowered, Writer& out, Diagnostics& diagnostics)
      : RoutineText(program, lowered.decode.graph, {lowered.decode.result}, lowered, out, diagnostics) {}

  bool write() {
    const Schedule plan = schedule(graph_, {{Output::Kind::kResult, 0, lowered_.decode.result}}, Transforms::kKept);
    if (plan.passes.size() != 1 || reduces(plan.passes[0])) {
      refuse(graph_[lowered_.decode.result].at, "a `decode` that reduces");
    }
    const Phase& phase = plan.passes[0].phases[0];
    const bool turns = plan.passes[0].phases.size() > 1;
    std::vector<bool> needed(graph_.values().size(), false);
    for (const Phase& each : plan.passes[0].phases) {
      for (const ValueId id : each.elements) needed[id] = true;
    }
    for (const ValueId id : phase.of_block) needed[id] = true;
    needed[lowered_.decode.result] = true;
    needed = below(needed);
    text_.keep(lowered_.decode.result);
    out_.open("struct Decoder");
    out_.line("static constexpr size_t kSections = " + std::to_string(program_.sections.size()) + ";");
    out_.line("static size_t block([[maybe_unused]] const GeneratedTile& tile) { return " + block_size() + "; }");
    out_.line("");
    if (!turns) table_ = code_of(phase);
    write_begin(needed);
    write_enter(phase);
    if (turns) {
      write_decode(plan.passes[0]);
    } else {
      write_fetch(phase);
      if (table_) write_value(phase);
      write_at(phase);
    }
    write_members(phase, needed);
    out_.close(";");
    return turns;
  }

 private:
  static bool reduces(const Pass& pass) {
    return std::any_of(pass.phases.begin(), pass.phases.end(),
                       [](const Phase& phase) { return !phase.reductions.empty(); });
  }

  /// The code that an element is made of, if the element has no other input of its own and a vector can hold the values
  /// of all codes.
  std::optional<ValueId> code_of(const Phase& phase) const {
    std::optional<ValueId> code;
    for (const ValueId id : phase.elements) {
      const Value& value = graph_[id];
      if (value.kind == Value::Kind::kSpread || !(value.kind != Value::Kind::kCompute || value.arguments.empty()))
        continue;
      if (code || value.kind != Value::Kind::kSection || value.type.bits > 4 || !value.type.is_integer())
        return std::nullopt;
      code = id;
    }
    return code;
  }

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
    if (table_) out_.line("table.set(*this);");
    out_.line("static_cast<void>(tile), static_cast<void>(entry);");
    out_.close();
    out_.line("");
    out_.forget_line();
  }

  void write_fetch(const Phase& phase) {
    out_.open("HWY_INLINE void fetch([[maybe_unused]] size_t i) const");
    for (const ValueId id : phase.elements) {
      const Value& value = graph_[id];
      if (value.kind != Value::Kind::kSection) continue;
      out_.line(fetch(value.type, section(value.section)));
    }
    out_.close();
    out_.line("");
  }

  /// Writes the function that computes an element from its code only.
  void write_value(const Phase& phase) {
    const Value& code = graph_[*table_];
    out_.line("/// What a code stands for in this block.");
    out_.open("HWY_INLINE Float value(" + ExpressionText::type(code.type, true) + " " + text_.name(*table_) +
              ") const");
    for (const ValueId id : phase.elements) {
      check_element(graph_[id]);
      if (id != *table_ && text_.has_line(id)) define(id, text_.definition(id));
    }
    out_.line("return " + text_.use(lowered_.decode.result, true) + ";");
    out_.close();
    out_.line("");
  }

  void write_at(const Phase& phase) {
    out_.open("HWY_INLINE Float at(const GeneratedTile& tile, size_t i, size_t rest) const");
    if (!table_) {
      for (const ValueId id : phase.elements) define_element(id);
    }
    out_.line("static_cast<void>(tile), static_cast<void>(i), static_cast<void>(rest);");
    out_.line("return " +
              (table_ ? "table.at(" + section(graph_[*table_].section) + ", i, rest, *this)"
                      : text_.use(lowered_.decode.result, true)) +
              ";");
    out_.close();
    out_.line("");
  }

  void define_element(ValueId id, const TransformArrays* arrays = nullptr) {
    const Value& value = graph_[id];
    check_element(value);
    if (!text_.has_line(id)) return;
    if (value.kind == Value::Kind::kSection)
      define(id, load_group(value));
    else if (value.kind == Value::Kind::kIndex)
      define(id, index(value));
    else if (value.kind == Value::Kind::kTransform)
      define(id, "load_floats(" + arrays->of(id) + " + (i - first))");
    else if (value.arguments.empty())
      define(id, random(value, "Random" + random_stream(value)));
    else
      define(id, text_.definition(id));
  }

  /// Writes loops with transforms between them.
  void write_decode(const Pass& pass) {
    const TransformArrays arrays(pass);
    out_.line("/// give(sixteen elements, i, how many there are) for the part [first, last) of the tile.");
    out_.line("template <class Give>");
    out_.open("HWY_INLINE void decode(const GeneratedTile& tile, size_t first, size_t last, const Give& give)");
    for (std::size_t i = 0; i < arrays.count(); ++i) {
      out_.line("HWY_ALIGN float " + TransformArrays::name(i) + "[kTurnedTogether];");
    }
    for (const Phase& phase : pass.phases) write_part(phase, arrays);
    out_.close();
    out_.line("");
  }

  void write_part(const Phase& phase, const TransformArrays& arrays) {
    out_.open("for_entered(*this, tile, first, last, [&](size_t i, auto rest) COMPLL_INLINE");
    for (const ValueId id : phase.elements) {
      const Value& value = graph_[id];
      if (value.kind == Value::Kind::kSection) out_.line(fetch(value.type, section(value.section)));
    }
    for (const ValueId id : phase.elements) define_element(id, &arrays);
    for (const ValueId id : phase.transforms) {
      out_.line("store_floats(" + text_.use(graph_[id].arguments.front(), true) + ", " + arrays.of(id) +
                " + (i - first));");
    }
    if (!phase.stores.empty()) out_.line("give(" + text_.use(lowered_.decode.result, true) + ", i, rest);");
    out_.line("static_cast<void>(rest);");
    out_.close(");");
    out_.forget_line();
    for (const ValueId id : phase.transforms) {
      out_.line("turn_blocks(" + arrays.of(id) + ", last - first, " + turned_size(graph_[id]) + ");");
    }
  }

  void write_members(const Phase& phase, const std::vector<bool>& needed) {
    for (std::uint32_t i = 0; i < program_.sections.size(); ++i) out_.line("const std::byte* " + section(i) + ";");
    for (ValueId id = 0; id < graph_.values().size(); ++id) {
      const Value& value = graph_[id];
      const bool block = std::find(phase.of_block.begin(), phase.of_block.end(), id) != phase.of_block.end();
      if (!text_.has_line(id) || !(block || (needed[id] && value.domain == Domain::kTensor))) continue;
      out_.line(ExpressionText::type(value.type, false) + " " + text_.name(id) + ";");
    }
    if (!table_) return;
    const ScalarType type = graph_[*table_].type;
    out_.line("CodeTable<" + std::to_string(type.bits) + ", " + ExpressionText::type(type, true) + "> table;");
  }

  std::optional<ValueId> table_;  ///< the code, if elements are looked up in a table
};

}  // namespace

bool write_decoder(const Program& program, const Lowered& lowered, Writer& out, Diagnostics& diagnostics) {
  return DecoderText(program, lowered, out, diagnostics).write();
}

}  // namespace casync::compll
