// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "compll/lang/syntax/diagnostic.h"
#include "compll/lang/syntax/token.h"

namespace casync::compll {

/// Thrown and caught inside the parser only, after the mistake has been reported.
struct ParseMistake {};

/// Goes through tokens from left to right, and says what is missing.
class TokenReader {
 public:
  TokenReader(const Tokens& tokens, Diagnostics& diagnostics) : tokens_(tokens), diagnostics_(diagnostics) {}

  const Token& now() const { return tokens_[at_]; }
  const Token& ahead(std::size_t count) const { return tokens_[std::min(at_ + count, tokens_.size() - 1)]; }
  /// The last token that was taken.
  const Token& before() const { return tokens_[at_ == 0 ? 0 : at_ - 1]; }
  bool at_end() const { return now().kind == Token::Kind::kEnd; }

  const Token& take() {
    const Token& token = now();
    if (!at_end()) ++at_;
    return token;
  }
  bool take_if(std::string_view spelling) {
    if (!now().is(spelling)) return false;
    take();
    return true;
  }
  /// `where` says what is being read: "after `return`".
  const Token& expect(std::string_view spelling, const std::string& where, const std::string& hint = "") {
    if (now().is(spelling)) return take();
    refuse("expected `" + std::string(spelling) + "` " + where, hint);
  }
  const Token& expect(Token::Kind kind, const std::string& what, const std::string& hint = "") {
    if (now().kind == kind) return take();
    refuse("expected " + what, hint);
  }
  /// Reports `wanted` and what is there instead.
  [[noreturn]] void refuse(const std::string& wanted, const std::string& hint = "") {
    diagnostics_.add(now().at,
                     wanted + ", found " + (at_end() ? "" : "`") + std::string(spelling(now())) + (at_end() ? "" : "`"),
                     hint);
    throw ParseMistake();
  }
  /// After a mistake: skips past the next `;` or up to the next `}` of this nesting.
  void skip_statement() {
    for (int depth = 0; !at_end(); take()) {
      if (now().is("{")) ++depth;
      if (now().is("}") && depth-- == 0) return;
      if ((now().is(";") || now().is("}")) && depth == 0) {
        take();
        return;
      }
    }
  }

  Diagnostics& diagnostics() const { return diagnostics_; }

 private:
  const Tokens& tokens_;
  Diagnostics& diagnostics_;
  std::size_t at_ = 0;
};

}  // namespace casync::compll
