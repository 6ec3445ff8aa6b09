// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace casync {

/// A codec by name, or by its file's path (base/codec_file.h), with the parameters that were written down. Others have
/// the codec's defaults.
struct CodecChoice {
  std::string name = "none";
  std::vector<std::pair<std::string, double>> parameters;  ///< in the order written; names are unique

  bool operator==(const CodecChoice&) const = default;
};

/// Reads a codec as command lines and CASYNC_CODEC have it: "int4", "int4:block=64,feedback=0" or
/// "codecs/mine.cll:block=64". Does not look for the codec.
/// InvalidArgument: no name, no "key=number" after the colon, a key twice, a number that is not finite.
Result<CodecChoice> parse_codec_choice(std::string_view text);

/// The other way: the shortest text that reads as the same choice.
std::string text_of(const CodecChoice& choice);

}  // namespace casync
