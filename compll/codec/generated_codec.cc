// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/generated_codec.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <sstream>
#include <utility>

#include "base/check.h"
#include "base/number.h"
#include "compll/codec/coded/coded_codec.h"
#include "compll/codec/declaration.h"
#include "compll/codec/payload.h"
#include "compll/codec/rounds_info.h"
#include "compll/codec/sections.h"
#include "compll/codec/tile_codec.h"
#include "compll/codec/tile_memory.h"
#include "compll/codec/vector_form_codec.h"
#include "compll/ops/generated_coded.h"

namespace casync::compll {
namespace {

class Generated final : public TileCodec, public SectionedPayload {
 public:
  Generated(CodecInfo info, const GeneratedCodec& functions, StatisticsCheck check_statistics)
      : info_(std::move(info)),
        functions_(functions),
        sends_blocks_(std::any_of(
            functions.sections, functions.sections + functions.section_count,
            [](const GeneratedSection& section) { return section.over == GeneratedSection::Over::kBlock; })),
        check_statistics_(check_statistics) {
    CASYNC_CHECK(functions.section_count <= kMostSections && std::has_single_bit(info_.block));
  }

  const CodecInfo& info() const override { return info_; }
  Bytes encoded_bound(Elements n) const override {
    Bytes end = kHeaderBytes;
    for (std::size_t i = 0; i < functions_.section_count && n != 0; ++i) {
      end = round_up(end, kSectionAlignment) + bytes_of_section(functions_.sections[i].bits, entries(i, n));
    }
    return end;
  }
  unsigned rotated_arrays() const override {
    return std::max(functions_.encode.rotated_arrays, functions_.merge.rotated_arrays);
  }
  Passes passes(bool of_sum) const override { return {encoder(of_sum).passes, encoder(of_sum).passes_without_kept}; }

  Status check(ConstView payload, Elements n) const override {
    const PayloadForm expected = form(n);
    CASYNC_RETURN_IF_ERROR(expected.places.check(expected.layout, payload));
    if (check_statistics_ == nullptr) return Status::ok();
    std::array<const std::byte*, kMostSections> sections;
    for (std::size_t i = 0; i < functions_.section_count; ++i) sections[i] = payload.data + expected.places[i].begin;
    return check_statistics_(sections.data(), blocks(n), says_finite(payload.data));
  }

  void begin_pass(EncodePass& pass, std::byte* payload) const override {
    const Elements n = pass.form->layout.n;
    if (n == 0) return;
    const auto sections = pointers(*pass.form, payload, 0);
    encoder(pass.of_sum)
        .begin_pass(pass.number, tile_of(Tile{n, 0, n}, pass.context, pass.states), pass.tensor, sections.data());
  }

  bool encode_tile(EncodePass& pass, const Tile& tile, const Scaled& source, float* scratch, std::byte* payload,
                   float* residual_out, Write mode) const override {
    const auto sections = pointers(*pass.form, payload, tile.first);
    return encoder(pass.of_sum)
        .tile(pass.number, tile_of(tile, pass.context, pass.states), pass.tensor, source, scratch, sections.data(),
              residual_out, mode);
  }

  void finish(const PayloadForm& form, bool finite, std::byte* payload) const override {
    write_header(form.layout, finite, payload);
    form.places.write_gaps(payload);
  }

  void decode_tile(const PayloadForm& form, const Tile& tile, std::span<const ConstView> payloads, float* out,
                   Write mode) const override {
    constexpr std::size_t kSome = 8;  // on the stack
    std::array<const std::byte*, kSome * kMostSections> sections;
    for (std::size_t i = 0; i < payloads.size(); i += kSome) {
      const std::size_t some = std::min(kSome, payloads.size() - i);
      const std::byte** next = sections.data();
      for (std::size_t k = 0; k < some; ++k) {
        for (std::size_t s = 0; s < functions_.section_count; ++s)
          *next++ = payloads[i + k].data + begin_of(form, s, tile.first);
      }
      functions_.decode_tile(tile_of(tile, {}, {}), sections.data(), some, out, i == 0 ? mode : Write::kAdd);
    }
  }

  std::optional<BitPlaces> bit_places(Elements n) const override {
    if (!functions_.merges_bits) return std::nullopt;
    const GeneratedSection* const sections = functions_.sections;
    const auto* const codes =
        std::find_if(sections, sections + functions_.section_count,
                     [](const GeneratedSection& section) { return section.over == GeneratedSection::Over::kElement; });
    return BitPlaces{places(n), static_cast<std::size_t>(codes - sections)};
  }

  void result(const float* decoded, Elements n, Residual state, const EncodeContext& context,
              float* out) const override {
    CASYNC_CHECK(functions_.result_tile != nullptr);
    if (n == 0) return;
    const KeptArrays kept(info_, state);
    const Write mode = kept.mode_of_own(n);
    functions_.result_tile(tile_of(Tile{n, 0, n}, context, kept.own()), decoded, out, mode);
    finish_writes(mode);
  }

  SectionPlaces places(Elements n) const override {
    SectionPlaces at;
    add_sections(n, at);
    return at;
  }

  PayloadForm form(Elements n) const override {
    PayloadForm form;  // and no list of values, which would be set to zero first
    add_sections(n, form.places);
    form.layout = layout_of(info_, n, sends_blocks_ ? info_.block : 1, form.places.size());
    return form;
  }
  PayloadLayout layout(Elements n) const override { return form(n).layout; }

 private:
  const GeneratedEncoder& encoder(bool of_sum) const {
    return of_sum && functions_.merge.tile != nullptr ? functions_.merge : functions_.encode;
  }

  /// `states`: of the whole vector.
  GeneratedTile tile_of(const Tile& tile, const EncodeContext& context, GeneratedStates states) const {
    if (states.in != nullptr) states.in += tile.first;
    if (states.out != nullptr) states.out += tile.first;
    return {info_.values.data(),
            tile.n,
            tile.first,
            tile.count,
            {context.seed, context.gradient, context.step, context.first},
            states};
  }

  /// Without a division, which would be a third of a small payload's check.
  Elements blocks(Elements n) const { return (n + info_.block - 1) >> std::countr_zero(info_.block); }

  void add_sections(Elements n, SectionPlaces& at) const {
    for (std::size_t i = 0; i < functions_.section_count && n != 0; ++i) {
      at.add(functions_.sections[i].bits, entries(i, n));
    }
  }

  Elements entries(std::size_t section, Elements n) const {
    switch (functions_.sections[section].over) {
      case GeneratedSection::Over::kTensor: return 1;
      case GeneratedSection::Over::kBlock: return blocks(n);
      case GeneratedSection::Over::kElement: return n;
      case GeneratedSection::Over::kSized: break;
    }
    CASYNC_CHECK(false);  // the text for tiles has none
    return 0;
  }

  /// The beginning of the part of a section that a tile has, if its first element is `first`.
  Bytes begin_of(const PayloadForm& form, std::size_t section, Elements first) const {
    const Bytes begin = form.places[section].begin;
    if (first == 0) return begin;
    const GeneratedSection& of = functions_.sections[section];
    switch (of.over) {
      case GeneratedSection::Over::kBlock: return begin + byte_of_element(of.bits, first / info_.block);
      case GeneratedSection::Over::kElement: return begin + byte_of_element(of.bits, first);
      default: return begin;
    }
  }
  std::array<std::byte*, kMostSections> pointers(const PayloadForm& form, std::byte* payload, Elements first) const {
    std::array<std::byte*, kMostSections> sections;
    for (std::size_t i = 0; i < functions_.section_count; ++i) sections[i] = payload + begin_of(form, i, first);
    return sections;
  }

  CodecInfo info_;
  const GeneratedCodec& functions_;
  const bool sends_blocks_;  ///< the header has the size of blocks whose statistics a payload has
  StatisticsCheck check_statistics_;
};

/// `tiles`: the codec works on tiles, whose sizes are powers of two.
Status set_value(const GeneratedDeclaration& declares, bool tiles, CodecInfo& info, const std::string& name,
                 double value) {
  for (std::size_t i = 0; i < info.parameters.size(); ++i) {
    const CodecParameter& parameter = info.parameters[i];
    if (parameter.name != name) continue;
    const bool own = i < declares.parameter_count;  // else `feedback`
    const double step = own ? declares.parameters[i].step : 0;
    const bool whole = !own || declares.parameters[i].whole;
    const bool block = own && tiles && static_cast<std::int32_t>(i) == declares.block_parameter;
    const auto* const choices = own ? declares.parameters[i].choices : nullptr;
    const std::uint32_t choice_count = own ? declares.parameters[i].choice_count : 0;
    // In the range first: only then is it a number that an integer can hold.
    const bool fits =
        value >= parameter.least && value <= parameter.most && (!whole || value == std::floor(value)) &&
        is_on_step(value, parameter.least, step) &&
        (!block || std::has_single_bit(static_cast<std::uint64_t>(value))) &&
        (choice_count == 0 || std::find(choices, choices + choice_count, value) != choices + choice_count);
    if (!fits) {
      std::ostringstream text;
      text.precision(15);  // as it was typed, not 1e+06
      text << "codec `" << info.name << "`: parameter `" << name << "` is " << value << ", expected "
           << (block   ? "a power of two"
               : whole ? "a whole number"
                       : "a number")
           << " from " << parameter.least << " to " << parameter.most;
      if (step != 0 && !block) text << " in steps of " << step;
      for (std::uint32_t c = 0; c < choice_count; ++c) text << (c == 0 ? ": " : ", ") << choices[c];
      return invalid_argument(text.str());
    }
    info.values[i] = value;
    return Status::ok();
  }
  return unknown_parameter(info, name);
}

}  // namespace

std::vector<Coding> codings_of(const GeneratedCodec& generated) {
  if (generated.version != kCodedVersion) return {};
  const Coding* const codings = static_cast<const GeneratedCodedCodec&>(generated).codings;
  return {codings, codings + generated.section_count};
}

CodecInfo info_of(const GeneratedDeclaration& declares) {
  return declared_info(declares, std::span(declares.parameters, declares.parameter_count));
}

Result<CodecInfo> info_of(const GeneratedCodec& generated, std::span<const std::pair<std::string, double>> parameters,
                          std::uint64_t digest) {
  CASYNC_CHECK(fits_headers(generated));
  const GeneratedDeclaration& declares = generated.declares;
  CodecInfo info = info_of(declares);
  info.digest = digest;
  for (const auto& [name, value] : parameters) {
    CASYNC_RETURN_IF_ERROR(set_value(declares, generated.encode.tile != nullptr, info, name, value));
  }
  return info;
}

Result<std::unique_ptr<Codec>> make_generated_codec(const GeneratedCodec& generated,
                                                    std::span<const std::pair<std::string, double>> parameters,
                                                    std::uint64_t digest, StatisticsCheck check_statistics) {
  if (generated.rounds.count != 0) return refuse_rounds(generated.declares.name);
  Result<CodecInfo> declared = info_of(generated, parameters, digest);
  if (!declared) return declared.status();
  CodecInfo info = std::move(*declared);
  const GeneratedDeclaration& declares = generated.declares;
  if (declares.feedback || declares.feedback_offered) info.feedback = info.values.back() == 1;
  if (info.feedback) info.state_initial.push_back(0);
  info.state_initial.insert(info.state_initial.end(), declares.state_initial,
                            declares.state_initial + declares.state_count);
  info.states = static_cast<std::uint32_t>(info.state_initial.size());
  info.coded_terms = declares.votes || declares.state_count != 0;
  info.has_result = generated.vector_form.result != nullptr || generated.result_tile != nullptr;
  if (declares.block_parameter >= 0) {
    info.block = static_cast<Elements>(info.values[static_cast<std::size_t>(declares.block_parameter)]);
  } else if (declares.block != 0) {
    info.block = declares.block;
  }
  info.bits_per_element = 0;
  for (std::uint32_t i = 0; i < generated.section_count; ++i) {
    const GeneratedSection& section = generated.sections[i];
    if (section.over == GeneratedSection::Over::kElement) info.bits_per_element += bits_per_element(section.bits);
    if (section.over == GeneratedSection::Over::kBlock) {
      info.bits_per_element += bits_per_element(section.bits) / static_cast<double>(info.block);
    }
  }
  if (generated.vector_form.encode != nullptr) {
    for (std::uint32_t i = 0; i < generated.section_count; ++i) {
      const GeneratedSection& section = generated.sections[i];
      if (section.over != GeneratedSection::Over::kSized) continue;
      constexpr Elements kMany = Elements{1} << 26;
      const GeneratedVector vector{info.values.data(), kMany, {}, nullptr};
      info.bits_per_element +=
          bits_per_element(section.bits) * static_cast<double>(generated.vector_form.sized(i, vector)) / kMany;
    }
    return make_vector_form_codec(std::move(info), generated, check_statistics);
  }
  return coded_where_asked(std::make_unique<Generated>(std::move(info), generated, check_statistics),
                           codings_of(generated));
}

}  // namespace casync::compll
