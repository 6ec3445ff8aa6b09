// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compll/lang/source.h"

namespace casync::compll {

/// A character that no source may have, in comments and texts neither: a reader of the file would see something else
/// than a compiler does.
struct RefusedCharacter {
  Span at;
  std::string message;
};

/// Finds the first refused character of `text` from `from` on: a control character other than tab, line feed and
/// carriage return ahead of a line feed; a Unicode character that ends a line or changes the direction of text; a byte
/// that is not UTF-8. Nothing: there is none.
std::optional<RefusedCharacter> find_refused_character(std::string_view text, std::size_t from);

/// `text` for a terminal: control characters other than tab and line feed become question marks.
std::string without_controls(std::string_view text);

}  // namespace casync::compll
