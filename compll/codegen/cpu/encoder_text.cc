// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/encoder_text.h"

#include <optional>
#include <set>

#include "compll/codegen/cpu/block_values.h"
#include "compll/codegen/cpu/encoder_loops.h"
#include "compll/codegen/text/operation_text.h"

namespace casync::compll {
namespace {

/// Writes struct Tensor, and a function for each pass of encode or merge.
class EncoderText : EncoderLoops {
 public:
  using EncoderLoops::EncoderLoops;

  std::vector<WrittenPass> write() {
    if (const std::optional<ValueId> top = top_of_input(plan_.passes.front())) conditions_[*top].reset();
    for (const Output& output : outputs_of(encode_)) text_.keep(written_as(output));
    text_.keep(encode_.input);
    for (const Pass& pass : plan_.passes) {
      for (const ValueId id : conditions_of(pass)) text_.keep(id);
    }
    for (const Value& value : graph_.values()) {
      if (is_count(value)) text_.use_instead(value.arguments.front(), as_bool(value.arguments.front()));
    }
    write_functions();
    write_tensor(plan_);
    for (std::size_t pass = 0; pass < plan_.passes.size(); ++pass) write_pass(pass);
    write_end();
    std::vector<WrittenPass> written;
    for (std::size_t pass = 0; pass < plan_.passes.size(); ++pass) {
      const Pass& made = plan_.passes[pass];
      written.push_back({has_blocks(made), waits_for_kept(pass), TransformArrays(made).count()});
    }
    return written;
  }

 private:
  /// Returns true for a pass that runs only if anything is kept. The first pass always runs: it checks all elements.
  bool waits_for_kept(std::size_t pass) const { return pass != 0 && is_for_kept(plan_.passes[pass]); }
  void define_sections() {
    for (std::uint32_t i = 0; i < program_.sections.size(); ++i) {
      out_.line("std::byte* const " + section(i) + " = sections[" + std::to_string(i) + "];");
    }
  }

  void define_packed(const Output& output) {
    if (output.kind != Output::Kind::kSection || !is_packed(element(output))) return;
    out_.line("PackedSection<" + std::to_string(element(output).bits) + "> " + packed(output.index) + "(" +
              section(output.index) + ");");
  }

  void write_pass(std::size_t number) {
    const Pass& pass = plan_.passes[number];
    const bool blocks = has_blocks(pass);
    for (const Phase& phase : pass.phases) {
      for (const ValueId id : phase.of_block) {
        if (graph_[id].kind == Value::Kind::kBlockReduce) text_.keep(id);
      }
    }
    const BlockValues values(graph_, text_, pass);
    if (!values.handed_on().empty()) write_block_struct(number, values);
    out_.forget_line();
    if (!blocks) out_.line("template <class Input>");
    out_.open("HWY_INLINE bool pass_" + std::to_string(number) + "(const GeneratedTile& tile, Tensor& tensor, const " +
              (blocks ? "Scaled& source, float* scratch," : "Input& input,") +
              "\n    std::byte* const* sections, float* residual, Write mode)");
    define_sections();
    define_states(encode_.states.size());
    std::vector<bool> needed = needed_of_tensor(pass), asked(needed.size(), false);
    for (const ValueId id : conditions_of(pass)) asked[id] = true;
    asked = below(std::move(asked));
    for (std::size_t id = 0; id < needed.size(); ++id) needed[id] = needed[id] || asked[id];
    define_tensor_values(needed);
    std::set<ValueId> drawn;
    for (const Phase& phase : pass.phases) {
      for (const ValueId id : phase.elements) {
        if (is_random(graph_[id]) && drawn.insert(id).second)
          out_.line("Random random" + std::to_string(id) + random_stream(graph_[id]) + ";");
      }
    }
    for (const Phase& phase : pass.phases) {
      for (const Output& output : phase.stores) define_packed(output);
    }
    for_tensor_reductions(pass, [&](ValueId id) {
      out_.line(reducer(graph_[id]) + " reduced" + std::to_string(id) + " = tensor." + text_.name(id) + ";");
    });
    const bool checks = number == 0;  // later passes see the same elements
    const std::optional<ValueId> top = checks ? top_of_input(pass) : std::nullopt;
    const bool of_blocks = top && graph_[*top].kind == Value::Kind::kBlockReduce;
    if (of_blocks) out_.line("bool finite = true;");
    if (checks && !top) out_.line("Magnitude top;  // of everything: says whether all is finite");
    if (blocks) {
      write_blocks(pass, number, checks, values);
    } else {
      const bool waits = waits_for_kept(number);
      if (waits) out_.open("if (" + keeps_any() + ")");
      write_loop(pass.phases.front(),
                 {"0", "tile.count", "input.load(i, rest)", "", "kFetchFloatsAhead / sizeof(float)", checks && !top});
      if (waits) out_.close();
    }
    for_tensor_reductions(
        pass, [&](ValueId id) { out_.line("tensor." + text_.name(id) + " = reduced" + std::to_string(id) + ";"); });
    for (std::uint32_t i = 0; i < program_.sections.size(); ++i) out_.line("static_cast<void>(" + section(i) + ");");
    out_.line("static_cast<void>(tensor), static_cast<void>(residual), static_cast<void>(mode);");
    const std::string found = top ? "reduced" + std::to_string(*top) : "top";
    out_.line(!checks     ? "return true;"
              : of_blocks ? "return finite;"
                          : "return " + finite_text(program_, found + ".result()") + ";");
    out_.close();
    out_.line("");
  }

  std::vector<ValueId> conditions_of(const Pass& pass) const {
    std::vector<ValueId> all;
    for (const Phase& phase : pass.phases) {
      for (const ValueId id : phase.reductions) {
        if (conditions_[id]) all.push_back(conditions_[id]->value);
      }
    }
    return all;
  }

  /// The reduction to the largest magnitude of the input, or of each of its blocks, if the program has one: it also
  /// says whether all elements are finite.
  std::optional<ValueId> top_of_input(const Pass& pass) const {
    for (const ValueId id : pass.phases.front().reductions) {
      const Value& value = graph_[id];
      if (value.reducer == Reducer::kMagnitude && graph_[value.arguments.front()].kind == Value::Kind::kInput)
        return id;
    }
    return std::nullopt;
  }
  // Values of a block are computed after the loop that reduces them: the loops over the elements of all blocks that are
  // worked on together come one after the other.

  void write_block_struct(std::size_t pass, const BlockValues& values) {
    out_.line("/// What is known of a block when its elements are gone through again.");
    out_.open("struct Block" + std::to_string(pass));
    for (const ValueId id : values.handed_on()) {
      out_.line(ExpressionText::type(graph_[id].type, false) + " " + text_.name(id) + ";");
    }
    out_.close(";");
    out_.line("");
  }

  void write_blocks(const Pass& pass, std::size_t number, bool checks, const BlockValues& values) {
    const std::optional<ValueId> top = checks ? top_of_input(pass) : std::nullopt;
    out_.line("const size_t block = " + block_size() + ";");
    out_.line("const Ahead ahead(source, tile.count, scratch);");
    arrays_.emplace(pass);
    for (std::size_t i = 0; i < arrays_->count(); ++i) {
      out_.line("float* const " + TransformArrays::name(i) + " = turned_array(scratch, tile.count, " +
                std::to_string(i) + ");");
    }
    if (!values.handed_on().empty()) out_.line("Block" + std::to_string(number) + " blocks[kBlocksTogether];");
    for (const Phase& phase : pass.phases) {
      for (const ValueId id : phase.reductions) {
        if (graph_[id].kind == Value::Kind::kBlockReduce) write_chunks(id, "reduced" + std::to_string(id));
      }
    }
    out_.open(
        "for (size_t first = 0, entry = 0; first < tile.count; first += kBlocksTogether * block, entry += "
        "kBlocksTogether)");
    out_.line("const size_t last = std::min(first + kBlocksTogether * block, tile.count);");
    out_.line("const float* const input = gather(source.from(first), last - first, scratch + first) - first;");
    const std::size_t longest = longest_loop(pass);
    for (std::size_t i = 0; i < pass.phases.size(); ++i) {
      const Phase* next = i + 1 < pass.phases.size() ? &pass.phases[i + 1] : nullptr;
      const bool begins_pass = i == 0 && (checks || !pass.phases[i].of_block.empty());
      if (!has_loop(pass.phases[i]) && !begins_pass) continue;
      const bool waits = !begins_pass && only_for_kept(pass.phases[i]);
      if (waits) out_.open("if (" + keeps_any() + ")");
      out_.open("for (size_t b = first, k = 0; b < last; b += block, ++k)");
      out_.line("const size_t end = std::min(b + block, last);");
      for (const ValueId id : values.handed_on()) {
        if (values.is_computed_in(id, i) || !values.is_used_in(id, i)) continue;
        out_.line("const " + ExpressionText::type(graph_[id].type, false) + " " + text_.name(id) + " = blocks[k]." +
                  text_.name(id) + ";");
      }
      if (i == 0) write_of_block(pass.phases[i], top);
      for (const ValueId id : pass.phases[i].reductions) {
        if (graph_[id].kind == Value::Kind::kBlockReduce && !is_count_of_all(id))
          out_.line(reducer(graph_[id]) + " reduced" + std::to_string(id) + ";");
      }
      write_loop(pass.phases[i], {"b", "end", "load_floats(input + i)", i == longest ? "ahead.fetch_line(i);" : "",
                                  i == longest ? "tile.count" : "", i == 0 && checks && !top});
      if (next != nullptr) write_of_block(*next, top);
      for (const ValueId id : values.handed_on()) {
        if (values.is_computed_in(id, i)) out_.line("blocks[k]." + text_.name(id) + " = " + text_.name(id) + ";");
      }
      out_.close();
      write_turns(pass.phases[i]);
      if (waits) out_.close();
      out_.forget_line();
    }
    out_.close();
  }

  /// Returns true if a phase has work only if a residual or states are kept.
  bool only_for_kept(const Phase& phase) const {
    return phase.reductions.empty() &&
           std::none_of(phase.transforms.begin(), phase.transforms.end(), [&](ValueId id) { return always_[id]; }) &&
           std::all_of(phase.stores.begin(), phase.stores.end(), is_kept);
  }
  std::string keeps_any() const {
    if (!encode_.residual) return "keeps_states";
    return encode_.states.empty() ? "residual != nullptr" : "residual != nullptr || keeps_states";
  }

  /// Writes the transforms, once the operands of all blocks that are worked on together are there.
  void write_turns(const Phase& phase) {
    for (const ValueId id : phase.transforms) {
      if (!always_[id]) out_.open("if (residual != nullptr)");
      out_.line("turn_blocks(" + arrays_->of(id) + " + first, last - first, " + turned_size(graph_[id]) + ");");
      if (!always_[id]) out_.close();
    }
  }

  void write_of_block(const Phase& phase, const std::optional<ValueId>& top) {
    for (const ValueId id : phase.of_block) {
      if (!text_.has_line(id)) continue;
      const Value& value = graph_[id];
      if (value.kind == Value::Kind::kBlockReduce && is_count_of_all(id))
        define(id, "static_cast<uint32_t>(end - b)");
      else if (value.kind == Value::Kind::kBlockReduce)
        write_block_result(id);
      else if (value.kind == Value::Kind::kIndex)
        define(id, "static_cast<" + ExpressionText::type(value.type, false) + ">(tile.first / block + entry + k)");
      else if (value.arguments.empty())
        refuse(value.at, "a random number for each block");
      else
        define(id, text_.definition(id));
      if (top == id) out_.line("finite &= " + finite_text(program_, text_.name(id)) + ";");
    }
    for (const Output& output : phase.block_stores) {
      out_.line(store_one(element(output), text_.use(output.value, false), section(output.index) + ", entry + k"));
    }
  }

  /// Writes the end of the last pass: sections with one entry for the tensor.
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
      out_.line(store_one(element(output), text_.use(output.value, false),
                          "sections[" + std::to_string(output.index) + "], 0"));
    }
    out_.line("static_cast<void>(tile), static_cast<void>(tensor), static_cast<void>(sections);");
    out_.close();
    out_.line("");
  }
};

}  // namespace

std::vector<WrittenPass> write_encoder(const Program& program, const EncodeGraph& encode, const Lowered& lowered,
                                       Writer& out, Diagnostics& diagnostics) {
  return EncoderText(program, encode, lowered, out, diagnostics).write();
}

}  // namespace casync::compll
