// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/syntax/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>

#include "compll/lang/syntax/characters.h"

namespace casync::compll {
namespace {

// A longer sign stands before the shorter ones that it begins with.
constexpr std::array<std::string_view, 46> kSigns = {
    "<<=", ">>=", "->", "++", "--", "..", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=",
    "*=",  "/=",  "%=", "&=", "|=", "^=", "(",  ")",  "[",  "]",  "{",  "}",  "<",  ">",  "+",  "-",
    "*",   "/",   "%",  "&",  "|",  "^",  "~",  "!",  "=",  "?",  ":",  ";",  ",",  "."};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  explicit Lexer(Diagnostics& diagnostics) : diagnostics_(diagnostics), text_(diagnostics.source().text()) {}

  Tokens run() {
    if (text_.size() > kMostSourceBytes) {
      diagnostics_.add({0, 0}, "the program has " + std::to_string(text_.size()) + " bytes, at most " +
                                   std::to_string(kMostSourceBytes) + " are read");
      text_ = {};
    }
    refuse_characters();
    while (skip_blanks(), at_ < text_.size() && !diagnostics_.full()) read_one();
    add(Token::Kind::kEnd, text_.size());
    return std::move(tokens_);
  }

 private:
  /// Refuses characters, in comments and texts, too.
  void refuse_characters() {
    for (std::size_t at = 0; !diagnostics_.full();) {
      const std::optional<RefusedCharacter> found = find_refused_character(text_, at);
      if (!found) return;
      diagnostics_.add(found->at, found->message, "a program is text; of control characters it has tabs and line ends");
      at = found->at.end;
    }
  }

  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void skip_blanks() {
    for (;;) {
      if (peek() == ' ' || peek() == '\t' || peek() == '\r' || peek() == '\n') {
        ++at_;
      } else if (text_.substr(at_).starts_with("//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (text_.substr(at_).starts_with("/*")) {
        const std::size_t end = text_.find("*/", at_ + 2);
        if (end == text_.npos) diagnostics_.add({at_, at_ + 2}, "this comment has no end", "close it with `*/`");
        at_ = end == text_.npos ? text_.size() : end + 2;
      } else {
        return;
      }
    }
  }

  void add(Token::Kind kind, std::size_t end, double number = 0) {
    tokens_.push_back({kind, {at_, end}, text_.substr(at_, end - at_), number});
    at_ = end;
  }

  void read_one() {
    if (is_letter(peek())) return read_name();
    if (is_digit(peek()) || (peek() == '.' && is_digit(peek(1)))) return read_number();
    if (peek() == '"') return read_text();
    for (const std::string_view sign : kSigns) {
      if (text_.substr(at_).starts_with(sign)) return add(Token::Kind::kSign, at_ + sign.size());
    }
    refuse_character();
  }

  void read_name() {
    std::size_t end = at_;
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
    add(Token::Kind::kName, end);
  }

  // 12, 0x1f, 1.5, .5, 1e-3, and any of the decimal ones followed by C's f. `1..2` is a range.
  void read_number() {
    const bool hex = peek() == '0' && (peek(1) == 'x' || peek(1) == 'X');
    std::size_t end = at_ + (hex ? 2 : 0);
    bool real = false;
    const auto digits = [&] {
      while (end < text_.size() && (is_digit(text_[end]) || (hex && is_letter(text_[end])))) ++end;
    };
    digits();
    if (!hex && text_.substr(end, 1) == "." && text_.substr(end, 2) != "..") real = true, ++end, digits();
    if (!hex && (text_.substr(end, 1) == "e" || text_.substr(end, 1) == "E")) {
      real = true;
      end += text_.substr(end + 1, 1) == "-" || text_.substr(end + 1, 1) == "+" ? 2 : 1;
      digits();
    }
    const std::size_t number_end = end;
    if (!hex && text_.substr(end, 1) == "f") real = true, ++end;
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;  // no part of any number
    const std::size_t begin = at_;
    const auto value = real
                           ? real_number(text_.substr(begin, number_end - begin))
                           : whole_number(text_.substr(begin + (hex ? 2 : 0), number_end - begin - (hex ? 2 : 0)), hex);
    const bool whole_word = end == number_end || (real && end == number_end + 1 && text_[number_end] == 'f');
    if (!value || !whole_word) {
      diagnostics_.add({begin, end},
                       "`" + std::string(text_.substr(begin, std::min<std::size_t>(end - begin, 40))) +
                           "` is no number this language has",
                       "write whole numbers below 2^32, 0x for base 16, and reals like 1.5 or 1e-3");
    }
    add(real ? Token::Kind::kReal : Token::Kind::kInteger, end, value.value_or(0));
  }

  static std::optional<double> real_number(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
  }

  static std::optional<double> whole_number(std::string_view text, bool hex) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
    return error == std::errc() && end == text.data() + text.size() ? std::optional<double>(value) : std::nullopt;
  }

  void read_text() {
    const std::size_t end = text_.find_first_of("\"\n", at_ + 1);
    if (end == text_.npos || text_[end] == '\n') {
      diagnostics_.add({at_, std::min(end, text_.size())}, "this text has no end", "close it with `\"` on its line");
      at_ = std::min(end, text_.size());
      return;
    }
    ++at_;
    add(Token::Kind::kText, end);
    tokens_.back().at = {tokens_.back().at.begin - 1, end + 1};
    at_ = end + 1;
  }

  void refuse_character() {
    std::size_t end = at_ + 1;
    while (end < text_.size() && (text_[end] & 0xc0) == 0x80) ++end;  // the rest of a character in UTF-8
    const bool reported = find_refused_character(text_.substr(0, end), at_).has_value();
    if (!reported) {
      diagnostics_.add({at_, end}, "`" + std::string(text_.substr(at_, end - at_)) + "` means nothing here");
    }
    at_ = end;
  }

  Diagnostics& diagnostics_;
  std::string_view text_;
  std::size_t at_ = 0;
  Tokens tokens_;
};

}  // namespace

Tokens read_tokens(Diagnostics& diagnostics) { return Lexer(diagnostics).run(); }

std::string_view spelling(const Token& token) {
  return token.kind == Token::Kind::kEnd ? "the end of the file" : token.text;
}

std::string text_of(const Source& source, const Tokens& tokens) {
  static constexpr std::array<std::string_view, 6> kKinds = {"name", "integer", "real", "text", "sign", "end"};
  std::string text;
  for (const Token& token : tokens) {
    const Position at = source.position(token.at.begin);
    text += std::to_string(at.line) + ":" + std::to_string(at.column) + " ";
    text += kKinds[static_cast<std::size_t>(token.kind)];
    if (token.kind != Token::Kind::kEnd) text += " " + std::string(token.text);
    text += "\n";
  }
  return text;
}

}  // namespace casync::compll
