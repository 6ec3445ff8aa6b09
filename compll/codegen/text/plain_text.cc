// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/text/plain_text.h"

#include <algorithm>

namespace casync::compll {
namespace {

bool is_printable(char c) { return c >= ' ' && c <= '~'; }

/// Writes three digits, so that a digit after them is one of its own.
std::string octal(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return {'\\', static_cast<char>('0' + (byte >> 6)), static_cast<char>('0' + (byte >> 3 & 7)),
          static_cast<char>('0' + (byte & 7))};
}

}  // namespace

std::string comment_text(std::string_view text) {
  std::string made;
  for (const char c : text) {
    if (c == '/' && made.ends_with('*')) made += ' ';
    if (c == '/' && made.ends_with("??")) made.back() = ' ';
    made += c == '\t' ? ' ' : is_printable(c) ? c : '?';
  }
  made.resize(made.find_last_not_of("\\ ") + 1);
  return made;
}

std::string string_literal(std::string_view text) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == '?') made += '\\';
    made += is_printable(c) ? std::string(1, c) : octal(c);
  }
  return made + "\"";
}

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c == '\n' || is_printable(c); });
}

}  // namespace casync::compll
