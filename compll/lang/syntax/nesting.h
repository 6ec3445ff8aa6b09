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
/// costs up to kCalls of these. An operand on the right costs none: there are no more of them inside of each other than
/// signs that bind differently.
class Nesting {
 public:
  enum class Of { kLevel, kOperand };

  Nesting(TokenReader& tokens, Depth& depth, Of of)
      : depth_(depth), beside_(depth.height), around_(of == Of::kLevel ? 1 : 0) {
    constexpr int kCalls = 4;
    if (depth_.around >= kCalls * kMostNesting) refuse(tokens);
    depth_.around += around_;
    depth_.height = 0;
  }
  ~Nesting() {
    depth_.around -= around_;
    depth_.height = std::max(beside_, depth_.height + 1);
  }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

  /// Puts everything that this level has read so far inside of one more operation: `a + b` inside of `a + b + c`.
  /// Throws ParseMistake beyond kMostHeight.
  static void wrap(TokenReader& tokens, Depth& depth) {
    ++depth.height;
    need_height(tokens, depth);
  }
  /// Throws ParseMistake if what this level has read so far is higher than kMostHeight.
  static void need_height(TokenReader& tokens, const Depth& depth) {
    if (depth.height > kMostHeight) refuse(tokens);
  }

 private:
  [[noreturn]] static void refuse(TokenReader& tokens) {
    tokens.diagnostics().add(tokens.now().at, "this nests too deeply", "give parts of it names");
    throw ParseMistake();
  }

  Depth& depth_;
  int beside_;  ///< levels of what the level around it has read beside it
  int around_;  ///< levels that this one costs
};

}  // namespace casync::compll
