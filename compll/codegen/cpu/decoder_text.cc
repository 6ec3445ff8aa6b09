// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/decoder_text.h"

#include <set>

#include "compll/codegen/cpu/routine_text.h"

namespace casync::compll {
namespace {

class DecoderText : RoutineText {
 public:
  DecoderText(const CpuTiles& plan, Writer& out)
      : RoutineText(*plan.program, plan.decoder.values, plan.lowered->block, out), plan_(plan.decoder) {}

  void write() {
    out_.open("struct Decoder");
    out_.line("static constexpr size_t kSections = " + std::to_string(program_.sections.size()) + ";");
    out_.line("static size_t block([[maybe_unused]] const GeneratedTile& tile) { return " + block_size() + "; }");
    out_.line("");
    write_begin();
    write_enter();
    if (plan_.rotates) {
      write_decode();
    } else {
      write_fetch();
      if (plan_.table) write_value();
      write_at();
    }
    write_members();
    out_.close(";");
  }

 private:
  void write_begin() {
    out_.open("HWY_INLINE void begin(const GeneratedTile& tile, const std::byte* const* sections)");
    for (std::uint32_t i = 0; i < program_.sections.size(); ++i) {
      out_.line(sections_.name(i) + " = sections[" + std::to_string(i) + "];");
    }
    for (const ValueId id : plan_.of_tensor) {
      const Value& value = graph_[id];
      const bool section_value = value.kind == Value::Kind::kSection;
      out_.line(text_.name(id) + " = " +
                (section_value                           ? sections_.load_one(value, "0")
                 : value.kind == Value::Kind::kParameter ? parameter(value)
                 : value.kind == Value::Kind::kCount     ? count(value)
                                                         : text_.definition(id)) +
                ";");
    }
    out_.line("static_cast<void>(tile);");
    out_.close();
    out_.line("");
  }

  void write_enter() {
    out_.line("/// Computes the values of a block, ahead of its elements.");
    out_.open("HWY_INLINE void enter(const GeneratedTile& tile, size_t entry)");
    for (const ValueId id : plan_.of_block) {
      const Value& value = graph_[id];
      out_.source_line(value.at);
      const std::string right =
          value.kind == Value::Kind::kSection ? sections_.load_one(value, "entry")
          : value.kind == Value::Kind::kIndex
              ? "static_cast<" + ExpressionText::type(value.type, false) + ">(tile.first / block(tile) + entry)"
              : text_.definition(id);
      out_.line(text_.name(id) + " = " + right + ";");
    }
    if (plan_.table) out_.line("table.set(*this);");
    out_.line("static_cast<void>(tile), static_cast<void>(entry);");
    out_.close();
    out_.line("");
    out_.forget_line();
  }

  void write_fetch() {
    out_.open("HWY_INLINE void fetch([[maybe_unused]] size_t i) const");
    write_fetches(plan_.loops.front());
    out_.close();
    out_.line("");
  }

  void write_fetches(const CpuDecoderLoop& loop) {
    for (const ValueId id : loop.sections) {
      out_.line(SectionText::fetch(graph_[id].type, sections_.name(graph_[id].section)));
    }
  }

  /// Writes the function that computes an element from its code only.
  void write_value() {
    const Value& code = graph_[*plan_.table];
    out_.line("/// The value of a code in this block.");
    out_.open("HWY_INLINE Float value(" + ExpressionText::type(code.type, true) + " " + text_.name(*plan_.table) +
              ") const");
    for (const ValueId id : plan_.loops.front().elements) {
      if (id != *plan_.table) define(id, text_.definition(id));
    }
    out_.line("return " + text_.use(plan_.decode->result, true) + ";");
    out_.close();
    out_.line("");
  }

  void write_at() {
    out_.open("HWY_INLINE Float at(const GeneratedTile& tile, size_t i, size_t rest) const");
    if (!plan_.table) define_elements(plan_.loops.front());
    out_.line("static_cast<void>(tile), static_cast<void>(i), static_cast<void>(rest);");
    out_.line("return " +
              (plan_.table ? "table.at(" + sections_.name(graph_[*plan_.table].section) + ", i, rest, *this)"
                           : text_.use(plan_.decode->result, true)) +
              ";");
    out_.close();
    out_.line("");
  }

  void define_elements(const CpuDecoderLoop& loop) {
    for (const ValueId id : loop.elements) {
      const Value& value = graph_[id];
      if (value.kind == Value::Kind::kSection)
        define(id, sections_.load_group(value));
      else if (value.kind == Value::Kind::kIndex)
        define(id, index(value));
      else if (value.kind == Value::Kind::kTransform)
        define(id, "load_floats(" + rotated(plan_.array_of.at(id)) + " + (i - first))");
      else if (value.arguments.empty())
        define(id, random(value, "Random" + random_stream(value)));
      else
        define(id, text_.definition(id));
    }
  }

  /// Writes loops with transforms between them.
  void write_decode() {
    out_.line("/// Calls give(sixteen elements, i, their number) for the part [first, last) of the tile.");
    out_.line("template <class Give>");
    out_.open("HWY_INLINE void decode(const GeneratedTile& tile, size_t first, size_t last, const Give& give)");
    for (std::size_t i = 0; i < plan_.arrays; ++i) {
      out_.line("HWY_ALIGN float " + rotated(i) + "[kRotatedTogether];");
    }
    for (const CpuDecoderLoop& loop : plan_.loops) write_part(loop);
    out_.close();
    out_.line("");
  }

  void write_part(const CpuDecoderLoop& loop) {
    out_.open("for_entered(*this, tile, first, last, [&](size_t i, auto rest) COMPLL_INLINE");
    write_fetches(loop);
    define_elements(loop);
    for (const ValueId id : loop.transforms) {
      out_.line("store_floats(" + text_.use(graph_[id].arguments.front(), true) + ", " +
                rotated(plan_.array_of.at(id)) + " + (i - first));");
    }
    if (loop.gives) out_.line("give(" + text_.use(plan_.decode->result, true) + ", i, rest);");
    out_.line("static_cast<void>(rest);");
    out_.close(");");
    out_.forget_line();
    for (const ValueId id : loop.transforms) {
      out_.line("rotate_blocks(" + rotated(plan_.array_of.at(id)) + ", last - first, " + rotated_size(graph_[id]) +
                ");");
    }
  }

  void write_members() {
    for (std::uint32_t i = 0; i < program_.sections.size(); ++i) {
      out_.line("const std::byte* " + sections_.name(i) + ";");
    }
    std::set<ValueId> members(plan_.of_tensor.begin(), plan_.of_tensor.end());
    members.insert(plan_.of_block.begin(), plan_.of_block.end());
    for (const ValueId id : members) {
      out_.line(ExpressionText::type(graph_[id].type, false) + " " + text_.name(id) + ";");
    }
    if (!plan_.table) return;
    const ScalarType type = graph_[*plan_.table].type;
    out_.line("CodeTable<" + std::to_string(type.bits) + ", " + ExpressionText::type(type, true) + "> table;");
  }

  const CpuDecoder& plan_;
};

}  // namespace

void write_decoder(const CpuTiles& plan, Writer& out) { DecoderText(plan, out).write(); }

}  // namespace casync::compll
