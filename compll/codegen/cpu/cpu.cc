// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/cpu.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "compll/codegen/cpu/decoder_text.h"
#include "compll/codegen/cpu/encoder_text.h"
#include "compll/codegen/cpu/result_text.h"
#include "compll/codegen/cpu/rounds_text.h"
#include "compll/codegen/cpu/vector_text.h"
#include "compll/codegen/text/operation_text.h"
#include "compll/codegen/text/plain_text.h"
#include "compll/ir/form.h"
#include "compll/ir/tiles/cpu/packing.h"
#include "compll/ir/tiles/cpu/plan.h"
#include "compll/lang/terms.h"
#include "compll/ops/generated.h"
#include "compll/ops/trits.h"

namespace casync::compll {
namespace {

/// The functions of a GeneratedEncoder.
struct EncoderNames {
  const char* begin_pass;
  const char* tile;
};
constexpr EncoderNames kEncode = {"begin_pass", "encode_tile"}, kMerge = {"begin_merge_pass", "merge_tile"};

void write_entry_points(Writer& out, const std::vector<CpuPass>& passes, const EncoderNames& names) {
  out.open("void " + std::string(names.begin_pass) +
           "(std::uint32_t pass, const GeneratedTile& all, std::byte* tensor, std::byte* const* sections)");
  out.line("if (pass == 0) new (tensor) Tensor;");
  out.line("if (pass == " + std::to_string(passes.size()) +
           ") end(all, *reinterpret_cast<Tensor*>(tensor), sections);");
  out.close();
  out.line("");
  out.open("bool " + std::string(names.tile) +
           "(std::uint32_t pass, const GeneratedTile& tile, std::byte* tensor, const Scaled& source,\n"
           "    float* scratch, std::byte* const* sections, float* residual, Write mode)");
  out.line("Tensor& known = *reinterpret_cast<Tensor*>(tensor);");
  out.line("static_cast<void>(pass), static_cast<void>(scratch);");
  for (std::size_t pass = passes.size(); pass-- > 0;) {
    const std::string call = "return pass_" + std::to_string(pass) + "(tile, known, ";
    if (pass != 0) out.open("if (pass == " + std::to_string(pass) + ")");
    if (passes[pass].has_blocks) {
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
}

void write_decode_tile(Writer& out, bool rotates) {
  out.open(
      "void decode_tile(const GeneratedTile& tile, const std::byte* const* sections, std::size_t payloads, float* "
      "out,\n"
      "                 Write mode)");
  out.line((rotates ? "decode_rotated" : "decode_sums") +
           std::string("<Decoder>(tile, sections, payloads, out, mode);"));
  out.close();
}

std::string_view enumerator_of(Coding coding) {
  switch (coding) {
    case Coding::kPlain: return "kPlain";
    case Coding::kPacked: return "kPacked";
    case Coding::kPackedFloats: return "kPackedFloats";
    case Coding::kRising: return "kRising";
    case Coding::kElias: return "kElias";
    case Coding::kEliasSigned: return "kEliasSigned";
  }
  return "kPlain";
}

std::string coding_list(const Program& program) {
  std::string list;
  for (const Section& section : program.sections) {
    list += (list.empty() ? "Coding::" : ", Coding::") + std::string(enumerator_of(section.coding));
  }
  return list;
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

/// A number of a double's field. Digits alone would be an integer of C++, which has an end.
std::string number(double value) {
  const std::string text = shortest(value);
  return std::fabs(value) >= 0x1p63 && text.find('e') == text.npos ? text + ".0" : text;
}

std::string flag(bool value) { return value ? "true" : "false"; }

std::string choices_of(const ProgramParameter& parameter) {
  if (parameter.choices.empty() || parameter.fixed) return "";
  std::string all;
  for (const double choice : parameter.choices) all += (all.empty() ? "" : ", ") + number(choice);
  return ", " + std::to_string(parameter.choices.size()) + ", {" + all + "}";
}

/// Writes the program's declarations of its codec, as the fields of GeneratedDeclaration.
void write_declaration(Writer& out, const Program& program, const std::optional<Constant>& shared) {
  const Declarations& says = program.declares;
  const std::string block = shared && !shared->parameter ? std::to_string(shared->value) : "0";
  const std::string parameter = shared && shared->parameter ? std::to_string(*shared->parameter) : "-1";
  std::string states;
  for (const ProgramState& state : program.states)
    states += (states.empty() ? "" : ", ") + literal_text(kFloatType, state.initial);
  out.line("{" + string_literal(says.name) + ", " + string_literal(says.summary) + ",");
  out.line(" " + string_literal(says.source) + ",");
  out.line(" " + std::to_string(says.number) + ", " + std::to_string(says.version) + ", " + flag(says.contractive) +
           ", " + flag(says.unbiased) + ", " + flag(says.feedback) + ", " + flag(says.feedback_offered) + ", " +
           flag(says.shared_numbers) + ", " + flag(says.votes) + ", " + flag(says.exact_merge) + ", " +
           std::to_string(program.states.size()) + ", {" + states + "}, " + block + ", " + parameter + ", " +
           std::to_string(program.parameters.size()) + ", {");
  for (const ProgramParameter& each : program.parameters) {
    const double least = each.fixed ? each.initial : each.least, most = each.fixed ? each.initial : each.most;
    out.line("  {" + string_literal(each.name) + ", " + string_literal(each.meaning) + ", " + number(each.initial) +
             ", " + number(least) + ", " + number(most) + ", " + number(each.step) + ", " +
             flag(!each.type.is_float()) + choices_of(each) + "},");
  }
  out.line(" }},");
}

// A program that the checker has passed fits into a generated codec, which has `feedback` as one more parameter.
static_assert(kSectionLimit <= kMostSections && kParameterLimit < kMostParameters && kChoiceLimit <= kMostChoices &&
              kStateLimit <= kMostStates);

/// Texts of several codecs can be compiled as one source: each has a namespace of its own.
std::string namespace_of(const std::string& codec) { return "casync::compll::codec_" + codec; }

void begin_text(Writer& out, const Program& program, const std::string& include,
                const std::vector<std::string>& headers) {
  static_assert(kTritType.bits == kTrits);
  out.line("// Written by compllc from codec " + program.declares.name + ". Changes belong into its file.");
  out.line("#undef HWY_TARGET_INCLUDE");
  out.line("#define HWY_TARGET_INCLUDE \"" + include + "\"");
  out.line("#include <hwy/foreach_target.h>");
  out.line("");
  for (const std::string& header : headers) out.line("#include \"compll/ops/cpu/" + header + "\"");
  if (has_codings(program)) out.line("#include \"compll/ops/generated_coded.h\"");
  if (uses_trits(program)) out.line("#include \"compll/ops/cpu/trits-inl.h\"");
  out.line("");
  out.line("HWY_BEFORE_NAMESPACE();");
  out.line("namespace " + namespace_of(program.declares.name) + "::HWY_NAMESPACE {");
  out.line("namespace {");
  out.line("");
  out.line("using namespace casync::compll::HWY_NAMESPACE;");
  out.line("");
}

/// Closes the part of the text that is compiled for every instruction set; the rest exists once.
void end_targets(Writer& out, const Program& program, const std::vector<std::string>& functions) {
  out.line("");
  out.line("}  // namespace");
  out.line("}  // namespace " + namespace_of(program.declares.name) + "::HWY_NAMESPACE");
  out.line("HWY_AFTER_NAMESPACE();");
  out.line("");
  out.line("#if HWY_ONCE");
  out.line("namespace " + namespace_of(program.declares.name) + " {");
  for (const std::string& function : functions) out.line("HWY_EXPORT(" + function + ");");
  out.line("");
}

void begin_codec(Writer& out, const Program& program, const std::optional<Constant>& block) {
  out.line("extern \"C\" const GeneratedCodec* " + generated_name(program.declares.name) + "() {");
  out.line("  static const GeneratedCodec codec = {");
  out.line("      kGeneratedVersion,");
  write_declaration(out, program, block);
  out.line("      " + std::to_string(program.sections.size()) + ", {" + section_list(program) + "},");
}

std::string entry(const std::string& function) {
  return "[](auto... all) { return HWY_DYNAMIC_DISPATCH(" + function + ")(all...); }";
}

/// Writes a GeneratedEncoder.
void write_encoder_entry(Writer& out, const std::vector<CpuPass>& passes, const EncoderNames& names) {
  std::size_t without_kept = passes.size(), arrays = 0;
  while (passes[without_kept - 1].waits) --without_kept;
  for (const CpuPass& pass : passes) arrays = std::max(arrays, pass.arrays);
  out.line("      {" + std::to_string(passes.size()) + ", " + std::to_string(without_kept) + ", " +
           std::to_string(arrays) + ",");
  out.line("       " + entry(names.begin_pass) + ",");
  out.line("       " + entry(names.tile) + "},");
}

void end_codec(Writer& out, const Program& program) {
  if (has_codings(program)) {
    out.line("  static const GeneratedCodedCodec coded(codec, {" + coding_list(program) + "});");
  }
  out.line(has_codings(program) ? "  return &coded;" : "  return &codec;");
  out.line("}");
  out.line("}  // namespace " + namespace_of(program.declares.name));
  out.line("#endif  // HWY_ONCE");
}

/// Writes the functions that encode a sum, by the same names in a namespace of its own.
void write_merge(const CpuEncoder& plan, Writer& out) {
  out.line("namespace of_sums {");
  out.line("");
  write_encoder(plan, out);
  write_entry_points(out, plan.passes, kMerge);
  out.line("}  // namespace of_sums");
  out.line("");
  for (const char* function : {kMerge.begin_pass, kMerge.tile})
    out.line(std::string("using of_sums::") + function + ";");
  out.line("");
}

/// The text of programs whose every loop can be one over the elements of a tile.
std::string tile_text(const CpuTiles& plan, const Source& source, const std::string& include) {
  const Program& program = *plan.program;
  Writer out(source);
  std::vector<std::string> headers = {"program-inl.h"};
  const auto packs = [](const Section& section) { return is_packed(section.type.element); };
  if (std::any_of(program.sections.begin(), program.sections.end(), packs)) headers.push_back("packed-inl.h");
  if (plan.rotates) headers.push_back("hadamard-inl.h");
  if (!program.states.empty() || plan.result) headers.push_back("states-inl.h");
  begin_text(out, program, include, headers);
  write_decoder(plan, out);
  out.line("");
  write_encoder(plan.encoder, out);
  write_entry_points(out, plan.encoder.passes, kEncode);
  if (plan.merge) write_merge(*plan.merge, out);
  if (plan.result) write_result(plan, out);
  write_decode_tile(out, plan.decoder.rotates);
  std::vector<std::string> functions = {kEncode.begin_pass, kEncode.tile, "decode_tile"};
  if (plan.merge) functions.insert(functions.end(), {kMerge.begin_pass, kMerge.tile});
  if (plan.result) functions.push_back("result_tile");
  end_targets(out, program, functions);
  begin_codec(out, program, plan.lowered->block);
  write_encoder_entry(out, plan.encoder.passes, kEncode);
  if (plan.merge) {
    write_encoder_entry(out, plan.merge->passes, kMerge);
  } else {
    out.line("      {},");
  }
  out.line("      " + entry("decode_tile") + ",");
  out.line("      " + (plan.result ? entry("result_tile") : "nullptr") + ",");
  out.line("      {}, {}, " + flag(plan.merges_bits) + "};");
  end_codec(out, program);
  return out.take();
}

bool draws(const Program& program) {
  bool any = false;
  const auto note = [&](const Term& term) { any |= is_random(term); };
  for (const Routine* routine : {&program.encode, &program.decode}) for_each_term(*routine, note);
  if (program.merge) for_each_term(*program.merge, note);
  if (program.result) for_each_term(*program.result, note);
  return any;
}

/// The text of all other programs that do not exchange.
std::string vector_text(const cpu_vector::Plan& plan, const Source& source, const std::string& include) {
  const Program& program = *plan.program;
  Writer out(source);
  std::vector<std::string> headers = {"vector_form-inl.h"};
  if (draws(program)) headers.push_back("vector_form_random-inl.h");
  begin_text(out, program, include, headers);
  write_vector(plan, out);
  const bool lists = plan.decode.role == cpu_vector::Role::kList;
  std::vector<std::string> functions = {"sized", "encode", "decode"};
  if (program.merge) functions.push_back("merge");
  if (lists) functions.push_back("list");
  if (program.result) functions.push_back("result");
  end_targets(out, program, functions);
  begin_codec(out, program, plan.block);
  out.line("      {}, {}, nullptr, nullptr,");
  out.line("      {" + entry("sized") + ",");
  out.line("       " + entry("encode") + ",");
  out.line("       " + (program.merge ? entry("merge") : "nullptr") + ",");
  out.line("       " + entry("decode") + ",");
  out.line("       " + (lists ? entry("list") : "nullptr") + ",");
  out.line("       " + (program.result ? entry("result") : "nullptr") + ",");
  out.line("       " + std::to_string(plan.list_sections) + "}};");
  end_codec(out, program);
  return out.take();
}

/// The text of programs that exchange.
std::string rounds_text(const cpu_turns::Plan& plan, const Source& source, const std::string& include) {
  const Program& program = *plan.program;
  Writer out(source);
  begin_text(out, program, include, {"turns-inl.h"});
  write_rounds(plan, out);
  end_targets(out, program, {"sized", "turn"});
  begin_codec(out, program, {});
  out.line("      {}, {}, nullptr, nullptr, {},");
  out.line("      {" + std::to_string(program.rounds) + ",");
  out.line("       [](auto... all) { return HWY_DYNAMIC_DISPATCH(sized)(all...); },");
  out.line("       [](auto... all) { HWY_DYNAMIC_DISPATCH(turn)(all...); }}};");
  end_codec(out, program);
  return out.take();
}

}  // namespace

std::string generated_name(const std::string& codec) { return "generated_" + codec; }

std::string visible_declaration(const std::string& codec) {
  return "#include \"compll/ops/generated.h\"\nnamespace " + namespace_of(codec) +
         " {\nextern \"C\" __attribute__((visibility(\"default\"))) const GeneratedCodec* " + generated_name(codec) +
         "();\n}\n";
}

Result<std::string> cpu_text(const Program& program, const Source& source, const std::string& include) {
  const TargetForm<CpuTiles> form = form_of(program, source, plan_cpu_tiles);
  if (form.kind == Form::Kind::kRounds) {
    const Result<cpu_turns::Plan> plan = cpu_turns::plan_turns(program, source);
    return plan ? Result<std::string>(rounds_text(*plan, source, include)) : plan.status();
  }
  if (form.kind == Form::Kind::kTiles) return tile_text(*form.tiles, source, include);
  const Result<cpu_vector::Plan> plan = cpu_vector::plan_vector(program, source);
  return plan ? Result<std::string>(vector_text(*plan, source, include)) : plan.status();
}

}  // namespace casync::compll
