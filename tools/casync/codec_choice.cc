// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/codec_choice.h"

#include <cstdio>
#include <utility>

#include "base/named_numbers.h"

namespace casync::tools {

Result<CodecChoice> parse_codec_choice(std::string_view text) {
  Result<NamedNumbers> parsed = parse_named_numbers(text);
  CASYNC_RETURN_IF_ERROR(parsed.status());
  return CodecChoice{std::move(parsed->name), std::move(parsed->numbers)};
}

std::string codec_text(const CodecChoice& choice) {
  std::string text = choice.name;
  char separator = ':';
  for (const auto& [name, value] : choice.parameters) {
    char number[32];
    std::snprintf(number, sizeof(number), "%.9g", value);
    text += separator + name + "=" + number;
    separator = ',';
  }
  return text;
}

}  // namespace casync::tools
