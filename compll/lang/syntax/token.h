// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "compll/lang/source.h"

namespace casync::compll {

/// A word of a program, as it stands in the source.
struct Token {
  enum class Kind : std::uint8_t { kName, kInteger, kReal, kText, kSign, kEnd };
  Kind kind = Kind::kEnd;
  Span at;
  std::string_view text;  ///< of kText without the quotes
  double number = 0;      ///< of kInteger and kReal; integers are below 2^32, so exact
  float real = 0;         ///< of kReal: the nearest float

  bool is(std::string_view spelling) const { return text == spelling && (kind == Kind::kName || kind == Kind::kSign); }
};

/// The last one is always kEnd.
using Tokens = std::vector<Token>;

/// The text of a token in messages: `;`, or the end of the file.
std::string_view spelling(const Token& token);

}  // namespace casync::compll
