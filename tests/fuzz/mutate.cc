// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace casync::compll {
namespace {

struct Span {
  std::size_t begin = 0, length = 0;
};

/// std::uniform_int_distribution differs between standard libraries.
std::size_t below(std::size_t limit, std::mt19937& random) { return limit == 0 ? 0 : random() % limit; }

/// One time in three any span, else a line: programs that lose or repeat a line often are programs.
Span some_span(const std::string& text, std::size_t most, std::mt19937& random) {
  const std::size_t begin = below(text.size(), random);
  if (below(3, random) == 0) return {begin, std::min(1 + below(most, random), text.size() - begin)};
  const std::size_t line = begin == 0 ? text.npos : text.rfind('\n', begin - 1), end = text.find('\n', begin);
  const std::size_t first = line == text.npos ? 0 : line + 1;
  return {first, (end == text.npos ? text.size() : end + 1) - first};
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The word or the sign around a place.
Span some_token(const std::string& text, std::mt19937& random) {
  if (text.empty()) return {};
  std::size_t begin = below(text.size(), random), end = begin + 1;
  if (!is_word(text[begin])) return {begin, 1};
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  while (end < text.size() && is_word(text[end])) ++end;
  return {begin, end - begin};
}

void flip_bit(std::string& text, std::mt19937& random) {
  if (text.empty()) return;
  char& c = text[below(text.size(), random)];
  c = static_cast<char>(c ^ (1 << below(8, random)));
}

void remove_span(std::string& text, std::mt19937& random) {
  const Span span = some_span(text, 60, random);
  text.erase(span.begin, span.length);
}

void repeat_span(std::string& text, std::mt19937& random) {
  const Span span = some_span(text, 200, random);
  const std::string again = text.substr(span.begin, span.length);
  for (std::size_t times = 1 + below(6, random); times != 0; --times) text.insert(span.begin, again);
}

void bring_over(std::string& text, const std::string& other, std::mt19937& random) {
  const Span from = some_span(other, 120, random), to = some_span(text, 1, random);
  text.insert(to.begin, other.substr(from.begin, from.length));
}

void swap_tokens(std::string& text, std::mt19937& random) {
  Span a = some_token(text, random), b = some_token(text, random);
  if (a.begin > b.begin) std::swap(a, b);
  if (a.begin + a.length > b.begin) return;
  const std::string first = text.substr(a.begin, a.length);
  text.replace(a.begin, a.length, text.substr(b.begin, b.length));
  text.replace(b.begin + b.length - a.length, b.length, first);
}

void replace_token(std::string& text, std::mt19937& random) {
  if (text.empty()) return;
  constexpr std::array<const char*, 14> kNumbers = {"0",   "1",   "2",    "3",          "31",         "32",    "33",
                                                    "0.5", "256", "1e38", "4294967295", "2147483648", "65536", "1e-45"};
  constexpr std::array<const char*, 14> kWords = {"int",   "uint1", "double", "bool",   "float*", "x", "",
                                                  "count", "max",   "range",  "random", "true",   "-", "<<"};
  const Span token = some_token(text, random);
  const bool number = std::isdigit(static_cast<unsigned char>(text[token.begin])) != 0;
  const char* by = number ? kNumbers[below(kNumbers.size(), random)] : kWords[below(kWords.size(), random)];
  text.replace(token.begin, token.length, by);
}

/// A word by another one of the same text.
void copy_token(std::string& text, std::mt19937& random) {
  const Span from = some_token(text, random), to = some_token(text, random);
  const std::string word = text.substr(from.begin, from.length);
  text.replace(to.begin, to.length, word);
}

}  // namespace

std::string mutated(std::string text, const std::string& other, std::mt19937& random) {
  for (std::size_t changes = 1 + below(3, random); changes != 0; --changes) {
    switch (below(7, random)) {
      case 0: flip_bit(text, random); break;
      case 1: remove_span(text, random); break;
      case 2: repeat_span(text, random); break;
      case 3: bring_over(text, other, random); break;
      case 4: swap_tokens(text, random); break;
      case 5: copy_token(text, random); break;
      default: replace_token(text, random); break;
    }
  }
  return text;
}

}  // namespace casync::compll
