// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace casync::compll {

/// A fenced block of docs/language.md whose first word is `cll`. The second word says where its text belongs:
///   (none)    a whole codec
///   encode    statements of encode
///   refused   statements of encode that are refused; the `text` block after it is the message
/// A `cll function` block stands outside of functions in the program of the block after it.
struct Example {
  std::string kind;       ///< "", "encode" or "refused"
  std::string functions;  ///< text of the `cll function` block just above it
  std::string text;
  std::string said;      ///< the message of a `refused` block
  std::size_t line = 0;  ///< line of the page where the text begins
};

/// All of the page's, in its order. Fails the test that calls it where a block stands alone that belongs to another
/// one, or is of a kind that does not exist.
std::vector<Example> examples_of_page();

/// The statements of an example with a whole codec around them, whose line 2 is the first of them. encode sends the
/// gradient, and after it the `sent` variables.
std::string codec_around(const Example& example, const std::vector<std::string>& sent = {});

}  // namespace casync::compll
