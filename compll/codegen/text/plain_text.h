// SPDX-License-Identifier: Apache-2.0
//
// Text by a program's author within generated text: printable ASCII that no compiler misreads.
#pragma once

#include <string>
#include <string_view>

namespace casync::compll {

/// The content of a comment. A tab becomes a space and every other byte outside of printable ASCII a question mark. The
/// result ends no comment, and does not continue on the next line: it has no backslash or trigraph at its end.
std::string comment_text(std::string_view text);

/// A string literal, quotes included, whose value is `text`, byte for byte. Bytes outside of printable ASCII are
/// escaped.
std::string string_literal(std::string_view text);

/// Returns true if all of `text` is printable ASCII or the end of a line.
bool is_plain(std::string_view text);

}  // namespace casync::compll
