// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/lang/syntax/parser.h"
#include "compll/lang/syntax/token_reader.h"

namespace casync::compll {

/// Counts how deep the parser is while it lives. Throws ParseMistake beyond kMostNesting levels of the program; a
/// level costs up to kCalls of these.
class Nesting {
 public:
  Nesting(TokenReader& tokens, int& depth) : depth_(depth) {
    constexpr int kCalls = 4;
    if (depth_ >= kCalls * kMostNesting) {
      tokens.diagnostics().add(tokens.now().at, "this nests too deeply", "give parts of it names");
      throw ParseMistake();
    }
    ++depth_;
  }
  ~Nesting() { --depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  int& depth_;
};

}  // namespace casync::compll
