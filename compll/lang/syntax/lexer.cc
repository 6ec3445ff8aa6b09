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
      diagnostics_.add({0, 0}, "the program has more than " + std::to_string(kMostSourceBytes) + " bytes");
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
        const std::string_view file = text_.substr(0, diagnostics_.source().end_of_file_at(at_));
        const std::size_t end = file.find("*/", at_ + 2);
        if (end == file.npos) diagnostics_.add({at_, at_ + 2}, "this comment has no end", "close it with `*/`");
        at_ = end == file.npos ? text_.size() : end + 2;
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
    const std::size_t end = end_of_word(at_), size = end - at_;
    if (size > kMostNameBytes) {
      diagnostics_.add({at_, end}, "a name of " + std::to_string(size) + " characters",
                       "a name has at most " + std::to_string(kMostNameBytes));
    }
    add(Token::Kind::kName, end);
  }

  // 12, 0x1f, 1.5, .5, 1e-3, and any of the decimal ones followed by C's f. `1..2` is a range.
  void read_number() {
    if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X')) return read_hex();
    bool real = false;
    std::size_t end = end_of_digits(at_);
    if (has(end, ".") && !has(end, "..")) {
      real = true;
      end = end_of_digits(end + 1);
    }
    if (has(end, "e") || has(end, "E")) {
      real = true;
      const bool has_sign = has(end + 1, "-") || has(end + 1, "+");
      end = end_of_digits(end + (has_sign ? 2 : 1));
    }
    const std::string_view number = text_.substr(at_, end - at_);
    if (has(end, "f")) real = true, ++end;
    const bool whole_word = end_of_word(end) == end;
    if (!whole_word) return refuse_number(end_of_word(end));
    if (real) return add_real(number, end);
    if (number.size() > 1 && number.front() == '0') return refuse_number(end);  // C would read it in base 8
    const std::optional<std::uint32_t> whole = whole_number(number, 10);
    whole ? add(Token::Kind::kInteger, end, *whole) : refuse_number(end);
  }

  void read_hex() {
    const std::size_t begin = at_ + 2, end = end_of_word(begin);
    const std::optional<std::uint32_t> whole = whole_number(text_.substr(begin, end - begin), 16);
    whole ? add(Token::Kind::kInteger, end, *whole) : refuse_number(end);
  }

  void add_real(std::string_view number, std::size_t end) {
    const std::optional<double> value = real_number(number);
    if (!value) return refuse_number(end);
    add(Token::Kind::kReal, end, *value);
    tokens_.back().real = nearest_float(number, *value);
  }

  /// Reports a word that is no number, and goes on as if it were one.
  void refuse_number(std::size_t end) {
    const std::size_t shown = std::min<std::size_t>(end - at_, 40);
    diagnostics_.add({at_, end}, "`" + std::string(text_.substr(at_, shown)) + "` is no number this language has",
                     "write whole numbers below 2^32, without zeros ahead, 0x for base 16, and reals like 1.5 or 1e-3");
    add(Token::Kind::kInteger, end);
  }

  bool has(std::size_t at, std::string_view text) const {
    return at < text_.size() && text_.substr(at).starts_with(text);
  }
  std::size_t end_of_digits(std::size_t from) const {
    while (from < text_.size() && is_digit(text_[from])) ++from;
    return from;
  }
  /// The end of letters and digits.
  std::size_t end_of_word(std::size_t from) const {
    while (from < text_.size() && (is_letter(text_[from]) || is_digit(text_[from]))) ++from;
    return from;
  }

  static std::optional<double> real_number(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
  }

  /// The float next to a written number. The double next to it, `value`, may lie between two others.
  static float nearest_float(std::string_view text, double value) {
    float nearest = 0;
    const std::errc error = std::from_chars(text.data(), text.data() + text.size(), nearest).ec;
    return error == std::errc() ? nearest : static_cast<float>(value);  // beyond the ends of float's range
  }

  static std::optional<std::uint32_t> whole_number(std::string_view text, int base) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
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
