// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>
#include <vector>

#include "compll/codegen/decoder_text.h"
#include "compll/codegen/encoder_text.h"
#include "compll/codegen/operation_text.h"
#include "compll/codegen/rounds_text.h"
#include "compll/codegen/routine_text.h"
#include "compll/codegen/whole_text.h"
#include "compll/ir/lower.h"
#include "compll/lang/terms.h"
#include "compll/ops/generated.h"
#include "compll/ops/trits.h"

namespace casync::compll {
namespace {

void write_entry_points(Writer& out, const std::vector<WrittenPass>& passes, bool turns) {
  out.open(
      "void begin_pass(std::uint32_t pass, const GeneratedTile& all, std::byte* tensor, std::byte* const* sections)");
  out.line("if (pass == 0) new (tensor) Tensor;");
  out.line("if (pass == " + std::to_string(passes.size()) +
           ") end(all, *reinterpret_cast<Tensor*>(tensor), sections);");
  out.close();
  out.line("");
  out.open(
      "bool encode_tile(std::uint32_t pass, const GeneratedTile& tile, std::byte* tensor, const Scaled& source,\n"
      "                 float* scratch, std::byte* const* sections, float* residual, Write mode)");
  out.line("Tensor& known = *reinterpret_cast<Tensor*>(tensor);");
  out.line("static_cast<void>(pass), static_cast<void>(scratch);");
  for (std::size_t pass = passes.size(); pass-- > 0;) {
    const std::string call = "return pass_" + std::to_string(pass) + "(tile, known, ";
    if (pass != 0) out.open("if (pass == " + std::to_string(pass) + ")");
    if (passes[pass].gathers) {
      out.line(call + "source, scratch, sections, residual, mode);");
    } else {
      out.open("return with_input(source, [&](const auto& input) HWY_ATTR");
      out.line(call + "input, sections, residual, mode);");
      out.close(");");
    }
    if (pass != 0) out.close();
  }
  out.close();
  out.line("");
  out.open(
      "void decode_tile(const GeneratedTile& tile, const std::byte* const* sections, std::size_t payloads, float* "
      "out,\n"
      "                 Write mode)");
  out.line((turns ? "decode_turned" : "decode_sums") + std::string("<Decoder>(tile, sections, payloads, out, mode);"));
  out.close();
}

std::string section_list(const Program& program) {
  std::string list;
  for (const Section& section : program.sections) {
    const bool block = section.type.extent && section.type.extent->kind == Extent::Kind::kBlocks;
    const bool sized = section.type.extent && (section.type.extent->kind == Extent::Kind::kFixed ||
                                               section.type.extent->kind == Extent::Kind::kSized);
    const std::string over = !section.type.extent ? "kTensor" : block ? "kBlock" : sized ? "kSized" : "kElement";
    list += (list.empty() ? "" : ", ") + ("{GeneratedSection::Over::" + over) + ", " +
            (section.type.element == kTritType ? "kTrits" : std::to_string(section.type.element.bits)) + "}";
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

std::string choices_of(const ProgramParameter& parameter) {
  if (parameter.choices.empty() || parameter.fixed) return "";
  std::string all;
  for (const double choice : parameter.choices) all += (all.empty() ? "" : ", ") + number(choice);
  return ", " + std::to_string(parameter.choices.size()) + ", {" + all + "}";
}

/// What the program says about its codec, as the declaration's fields.
void write_declaration(Writer& out, const Program& program, const std::optional<Constant>& shared) {
  const Declarations& says = program.declares;
  const std::string block = shared && !shared->parameter ? std::to_string(shared->value) : "0";
  const std::string parameter = shared && shared->parameter ? std::to_string(*shared->parameter) : "-1";
  std::string states;
  for (const ProgramState& state : program.states)
    states += (states.empty() ? "" : ", ") + literal_text(kFloatType, state.initial);
  out.line("{" + quoted(says.name) + ", " + quoted(says.summary) + ",");
  out.line(" " + quoted(says.source) + ",");
  out.line(" " + std::to_string(says.number) + ", " + std::to_string(says.version) + ", " + flag(says.contractive) +
           ", " + flag(says.unbiased) + ", " + flag(says.feedback) + ", " + flag(says.feedback_offered) + ", " +
           flag(says.shared_numbers) + ", " + std::to_string(program.states.size()) + ", {" + states + "}, " + block +
           ", " + parameter + ", " + std::to_string(program.parameters.size()) + ", {");
  for (const ProgramParameter& each : program.parameters) {
    const double least = each.fixed ? each.initial : each.least, most = each.fixed ? each.initial : each.most;
    out.line("  {" + quoted(each.name) + ", " + quoted(each.meaning) + ", " + number(each.initial) + ", " +
             number(least) + ", " + number(most) + ", " + number(each.step) + ", " + flag(!each.type.is_float()) +
             choices_of(each) + "},");
  }
  out.line(" }},");
}

Status check_limits(const Program& program, const Source& source) {
  const auto too_many = [&](std::size_t count, std::size_t most, const char* of) {
    return unimplemented(source.name() + ": " + std::to_string(count) + " " + of + " cannot be compiled, only " +
                         std::to_string(most));
  };
  if (program.sections.size() > kMostSections) return too_many(program.sections.size(), kMostSections, "sections");
  if (program.parameters.size() >= kMostParameters) {
    return too_many(program.parameters.size(), kMostParameters - 1, "parameters");
  }
  for (const ProgramParameter& parameter : program.parameters) {
    if (parameter.choices.size() > kMostChoices) return too_many(parameter.choices.size(), kMostChoices, "choices");
  }
  return Status::ok();
}

void begin_text(Writer& out, const Program& program, const std::string& include, const std::string& more,
                const std::string& header) {
  static_assert(kTritType.bits == kTrits);
  out.line("// Written by compllc from codec " + program.declares.name + ". Changes belong into its file.");
  out.line("#undef HWY_TARGET_INCLUDE");
  out.line("#define HWY_TARGET_INCLUDE \"" + include + "\"");
  out.line("#include <hwy/foreach_target.h>");
  out.line("");
  out.line("#include \"compll/ops/cpu/" + header + "\"");
  if (!more.empty()) out.line("#include \"compll/ops/cpu/" + more + "\"");
  if (uses_trits(program)) out.line("#include \"compll/ops/cpu/trits-inl.h\"");
  out.line("");
  out.line("HWY_BEFORE_NAMESPACE();");
  out.line("namespace casync::compll::HWY_NAMESPACE {");
  out.line("namespace {");
  out.line("");
}

/// The functions of every instruction set end here; what follows exists once.
void end_targets(Writer& out, const std::vector<std::string>& functions) {
  out.line("");
  out.line("}  // namespace");
  out.line("}  // namespace casync::compll::HWY_NAMESPACE");
  out.line("HWY_AFTER_NAMESPACE();");
  out.line("");
  out.line("#if HWY_ONCE");
  out.line("namespace casync::compll {");
  for (const std::string& function : functions) out.line("HWY_EXPORT(" + function + ");");
  out.line("");
}

void begin_codec(Writer& out, const Program& program, const std::optional<Constant>& block,
                 const std::vector<WrittenPass>& passes = std::vector<WrittenPass>(1)) {
  out.line("extern \"C\" const GeneratedCodec* " + generated_name(program.declares.name) + "() {");
  out.line("  static const GeneratedCodec codec = {");
  out.line("      kGeneratedVersion,");
  write_declaration(out, program, block);
  std::size_t without_residual = passes.size();
  while (passes[without_residual - 1].for_residual) --without_residual;
  std::size_t arrays = 0;
  for (const WrittenPass& pass : passes) arrays = std::max(arrays, pass.arrays);
  out.line("      " + std::to_string(passes.size()) + ", " + std::to_string(without_residual) + ", " +
           std::to_string(arrays) + ", " + std::to_string(program.sections.size()) + ", {" + section_list(program) +
           "},");
}

void end_codec(Writer& out) {
  out.line("  return &codec;");
  out.line("}");
  out.line("}  // namespace casync::compll");
  out.line("#endif  // HWY_ONCE");
}

/// Whether all sizes a block may have are powers of two from 16 on. Of a parameter's values others are refused where
/// the codec is made.
bool is_whole_groups(const Program& program, const Constant& block) {
  if (block.parameter) return program.parameters[*block.parameter].least >= 16;
  return block.value >= 16 && std::has_single_bit(block.value);
}

/// For programs whose every loop can be one over the elements of a tile.
Result<std::string> tile_text(const Program& program, const Lowered& lowered, const Source& source,
                              const std::string& include) {
  for (const Section& section : program.sections) {
    const bool blocks = section.type.extent && section.type.extent->kind == Extent::Kind::kBlocks;
    // A tile's entries have to begin with a byte of their own.
    if (blocks && section.type.element.bits % 8 != 0) {
      return unimplemented(source.name() + ": section `" + section.name + "` has entries of " +
                           text_of(section.type.element) + " for each block, which begin within a byte");
    }
  }
  // Sixteen elements are worked on at a time, and a block has to end with them.
  if (lowered.block && !is_whole_groups(program, *lowered.block)) {
    return unimplemented(source.name() + ": blocks that are no power of two from 16 on");
  }
  Diagnostics diagnostics(source);
  Writer out(source);
  const bool turns = lowered.encode.graph.has_transforms() || lowered.decode.graph.has_transforms();
  begin_text(out, program, include, turns ? "hadamard-inl.h" : "", "program-inl.h");
  std::vector<WrittenPass> passes;
  try {
    write_decoder(program, lowered, out, diagnostics);
    out.line("");
    passes = write_encoder(program, lowered, out, diagnostics);
    write_entry_points(out, passes, lowered.decode.graph.has_transforms());
  } catch (const CannotWrite&) {
    return unimplemented(diagnostics.status().message());
  }
  end_targets(out, {"begin_pass", "encode_tile", "decode_tile"});
  begin_codec(out, program, lowered.block, passes);
  out.line("      [](auto... all) { HWY_DYNAMIC_DISPATCH(begin_pass)(all...); },");
  out.line("      [](auto... all) { return HWY_DYNAMIC_DISPATCH(encode_tile)(all...); },");
  out.line("      [](auto... all) { HWY_DYNAMIC_DISPATCH(decode_tile)(all...); },");
  out.line("      {}};");
  end_codec(out);
  return out.take();
}

/// The size of blocks that sections are made of; InvalidArgument: there are two.
Result<std::optional<Constant>> shared_block(const Program& program, const Source& source) {
  std::optional<Constant> shared;
  for (const Section& section : program.sections) {
    if (!section.type.extent || section.type.extent->kind != Extent::Kind::kBlocks) continue;
    if (shared && *shared != section.type.extent->count) {
      return unimplemented(source.name() + ": sections for blocks of two sizes cannot be compiled, only interpreted");
    }
    shared = section.type.extent->count;
  }
  return shared;
}

bool draws(const Program& program) {
  bool any = false;
  const auto note = [&](const Term& term) { any |= is_random(term); };
  for (const Routine* routine : {&program.encode, &program.decode}) for_each_term(*routine, note);
  if (program.merge) for_each_term(*program.merge, note);
  if (program.result) for_each_term(*program.result, note);
  return any;
}

/// For all others.
Result<std::string> whole_text(const Program& program, const Source& source, const std::string& include) {
  const Result<std::optional<Constant>> block = shared_block(program, source);
  if (!block) return block.status();
  Diagnostics diagnostics(source);
  Writer out(source);
  begin_text(out, program, include, draws(program) ? "whole_random-inl.h" : "", "whole-inl.h");
  try {
    write_whole(program, out, diagnostics);
  } catch (const CannotWrite&) {
    return unimplemented(diagnostics.status().message());
  }
  std::vector<std::string> functions = {"sized", "encode", "decode"};
  if (program.merge) functions.push_back("merge");
  if (gives_list(program)) functions.push_back("list");
  if (program.result) functions.push_back("result");
  end_targets(out, functions);
  begin_codec(out, program, *block);
  out.line("      nullptr, nullptr, nullptr,");
  const auto entry = [](const std::string& function) {
    return "[](auto... all) { return HWY_DYNAMIC_DISPATCH(" + function + ")(all...); }";
  };
  out.line("      {" + entry("sized") + ",");
  out.line("       " + entry("encode") + ",");
  out.line("       " + (program.merge ? entry("merge") : "nullptr") + ",");
  out.line("       " + entry("decode") + ",");
  out.line("       " + (gives_list(program) ? entry("list") : "nullptr") + ",");
  out.line("       " + (program.result ? entry("result") : "nullptr") + "}};");
  end_codec(out);
  return out.take();
}

/// For those that exchange.
Result<std::string> rounds_text(const Program& program, const Source& source, const std::string& include) {
  Diagnostics diagnostics(source);
  Writer out(source);
  begin_text(out, program, include, "", "matrix-inl.h");
  try {
    write_rounds(program, out, diagnostics);
  } catch (const CannotWrite&) {
    return unimplemented(diagnostics.status().message());
  }
  end_targets(out, {"sized", "turn"});
  begin_codec(out, program, {});
  out.line("      nullptr, nullptr, nullptr, {},");
  out.line("      {" + std::to_string(program.rounds) + ",");
  out.line("       [](auto... all) { return HWY_DYNAMIC_DISPATCH(sized)(all...); },");
  out.line("       [](auto... all) { HWY_DYNAMIC_DISPATCH(turn)(all...); }}};");
  end_codec(out);
  return out.take();
}

}  // namespace

std::string generated_name(const std::string& codec) { return "generated_" + codec; }

Result<std::string> cpu_text(const Program& program, const Source& source, const std::string& include) {
  CASYNC_RETURN_IF_ERROR(check_limits(program, source));
  if (program.synchronize) return rounds_text(program, source, include);
  const Result<Lowered> lowered = lower(program, source);
  if (lowered) {
    Result<std::string> text = tile_text(program, *lowered, source, include);
    if (text) return text;
  }
  return whole_text(program, source, include);
}

}  // namespace casync::compll
