// SPDX-License-Identifier: Apache-2.0
#include "compll/load/variants.h"

#include <algorithm>

#include "compll/codec/written.h"

namespace casync::compll {
namespace {

/// Of a parameter that types are made of, the only value that was compiled.
bool is_fixed(const GeneratedParameter& parameter) { return parameter.least == parameter.most; }

bool is_variant(const GeneratedDeclaration& declares, std::span<const std::pair<std::string, double>> parameters) {
  return std::any_of(parameters.begin(), parameters.end(), [&](const auto& given) {
    return std::any_of(std::begin(declares.parameters), std::end(declares.parameters), [&](const auto& parameter) {
      return given.first == parameter.name && is_fixed(parameter) && given.second != parameter.initial;
    });
  });
}

}  // namespace

std::string_view source_of_variant(const std::string& name,
                                   std::span<const std::pair<std::string, double>> parameters) {
  for (const GeneratedCodec* codec : written_codecs()) {
    if (codec->declares.name != name) continue;
    return is_variant(codec->declares, parameters) ? written_source(name) : std::string_view();
  }
  return {};
}

}  // namespace casync::compll
