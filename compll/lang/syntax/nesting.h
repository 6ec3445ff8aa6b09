// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "compll/lang/syntax/parser.h"
#include "compll/lang/syntax/token_reader.h"

namespace casync::compll {

/// The depth of the tree that is being made, so that neither the parser nor a walk through the tree ends the stack.
struct Depth {
  int around = 0;  ///< levels around the place that is read
  int height = 0;  ///< levels of what the innermost of them has read so far
};

/// One more level of the tree, while it lives. Throws ParseMistake beyond kMostNesting levels of the program; a level
/// costs up to kCalls of these.
class Nesting {
 public:
  Nesting(TokenReader& tokens, Depth& depth) : depth_(depth), beside_(depth.height) {
    constexpr int kCalls = 4;
    if (depth_.around >= kCalls * kMostNesting) refuse(tokens);
    ++depth_.around;
    depth_.height = 0;
  }
  ~Nesting() {
    --depth_.around;
    depth_.height = std::max(beside_, depth_.height + 1);
  }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

  /// Puts everything that this level has read so far inside of one more operation: `a + b` inside of `a + b + c`.
  /// Throws ParseMistake beyond kMostHeight.
  static void wrap(TokenReader& tokens, Depth& depth) {
    if (++depth.height > kMostHeight) refuse(tokens);
  }

 private:
  [[noreturn]] static void refuse(TokenReader& tokens) {
    tokens.diagnostics().add(tokens.now().at, "this nests too deeply", "give parts of it names");
    throw ParseMistake();
  }

  Depth& depth_;
  int beside_;  ///< levels of what the level around it has read beside it
};

}  // namespace casync::compll
