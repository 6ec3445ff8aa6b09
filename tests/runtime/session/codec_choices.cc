// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/session/codec_choices.h"

#include <algorithm>
#include <map>

#include "compll/codec/codec.h"

namespace casync::test {

std::string choice_of(const std::string& name) {
  static const std::map<std::string, std::string> kParameters = {
      {"atomo", "param { key: \"ratio\" value: 0.5 }"},
      {"threshold", "param { key: \"tau\" value: 0.5 } param { key: \"capacity\" value: 0.5 }"},
      {"threshold_coded", "param { key: \"tau\" value: 0.5 }"},
      {"tbq", "param { key: \"tau\" value: 4 }"},
      {"twobit", "param { key: \"tau\" value: 4 }"},
      {"dgc", "param { key: \"ratio\" value: 0.2 } param { key: \"momentum\" value: 0 }"},
      {"sketch", "param { key: \"block\" value: 4 }"},
      {"sketch_median", "param { key: \"block\" value: 16 }"},
      {"subsampling", "param { key: \"ratio\" value: 0.6 }"},
      {"adacomp", ""}};
  const auto found = kParameters.find(name);
  if (found != kParameters.end()) return named(name) + " " + found->second;
  const auto codec = compll::make_codec(name);
  const auto& parameters = (*codec)->info().parameters;
  const bool has_ratio = std::any_of(parameters.begin(), parameters.end(),
                                     [](const compll::CodecParameter& each) { return each.name == "ratio"; });
  return named(name) + (has_ratio ? " param { key: \"ratio\" value: 0.2 }" : "");
}

}  // namespace casync::test
