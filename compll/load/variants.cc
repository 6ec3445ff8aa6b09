// SPDX-License-Identifier: Apache-2.0
#include "compll/load/variants.h"

#include <bit>

#include "compll/codec/written.h"

namespace casync::compll {
namespace {

/// Returns true if types are made of a parameter: then only one value of it was compiled.
bool is_fixed(const GeneratedParameter& parameter) { return parameter.least == parameter.most; }

/// Returns true if a value is a block size that loops over tiles have no room for.
bool is_odd_block(const GeneratedCodec& codec, std::size_t parameter, double value) {
  const bool block = static_cast<std::int32_t>(parameter) == codec.declares.block_parameter;
  const GeneratedParameter& range = codec.declares.parameters[parameter];
  return block && codec.encode.tile != nullptr && value >= range.least && value <= range.most &&
         !std::has_single_bit(static_cast<std::uint64_t>(value));
}

bool is_variant(const GeneratedCodec& codec, std::span<const std::pair<std::string, double>> parameters) {
  const GeneratedDeclaration& declares = codec.declares;
  for (const auto& [name, value] : parameters) {
    for (std::size_t i = 0; i < declares.parameter_count; ++i) {
      const GeneratedParameter& parameter = declares.parameters[i];
      if (name != parameter.name) continue;
      if ((is_fixed(parameter) && value != parameter.initial) || is_odd_block(codec, i, value)) return true;
    }
  }
  return false;
}

}  // namespace

std::string_view source_of_variant(const std::string& name,
                                   std::span<const std::pair<std::string, double>> parameters) {
  for (const GeneratedCodec* codec : written_codecs()) {
    if (codec->declares.name != name) continue;
    return is_variant(*codec, parameters) ? written_source(name) : std::string_view();
  }
  return {};
}

}  // namespace casync::compll
