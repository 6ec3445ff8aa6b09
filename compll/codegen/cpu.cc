// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu.h"

#include <charconv>

#include "compll/codegen/decoder_text.h"
#include "compll/codegen/encoder_text.h"
#include "compll/codegen/routine_text.h"
#include "compll/ops/generated.h"

namespace casync::compll {
namespace {

void write_entry_points(Writer& out, std::size_t passes) {
  out.open(
      "void begin_pass(std::uint32_t pass, const GeneratedTile& all, std::byte* tensor, std::byte* const* sections)");
  out.line("if (pass == 0) new (tensor) Tensor;");
  out.line("if (pass == " + std::to_string(passes) + ") end(all, *reinterpret_cast<Tensor*>(tensor), sections);");
  out.close();
  out.line("");
  out.open(
      "bool encode_tile(std::uint32_t pass, const GeneratedTile& tile, std::byte* tensor, const Scaled& source,\n"
      "                 float* scratch, std::byte* const* sections, float* residual, Write mode)");
  out.line("Tensor& known = *reinterpret_cast<Tensor*>(tensor);");
  out.open("return with_input(source, tile.count, scratch, [&](const auto& input) HWY_ATTR");
  for (std::size_t pass = passes - 1; pass > 0; --pass) {
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
  if (program.sections.size() > kMostSections || program.parameters.size() >= kMostParameters) {
    return unimplemented(source.name() + ": more than " + std::to_string(kMostSections) + " sections or " +
                         std::to_string(kMostParameters - 1) + " parameters cannot be compiled for the CPU");
  }
  for (const Section& section : program.sections) {
    const bool blocks = section.type.extent && section.type.extent->kind == Extent::Kind::kBlocks;
    // A tile's entries have to begin with a byte of their own.
    if (blocks && section.type.element.bits % 8 != 0) {
      return unimplemented(
          source.name() + ": section `" + section.name + "` has entries of " + text_of(section.type.element) +
          " for each block, which cannot be compiled for the CPU: " + "only interpreted; widen them to whole bytes");
    }
  }
  Diagnostics diagnostics(source);
  Writer out(source);
  out.line("// Written by compllc from codec " + program.declares.name + ". Changes belong into its file.");
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
  std::size_t passes = 0;
  try {
    write_decoder(program, lowered, out, diagnostics);
    out.line("");
    passes = write_encoder(program, lowered, out, diagnostics);
    write_entry_points(out, passes);
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
  out.line("      " + std::to_string(passes) + ", " + std::to_string(program.sections.size()) + ", {" +
           section_list(program) + "},");
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
