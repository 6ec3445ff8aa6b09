// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/syntax/characters.h"

#include <cstdint>
#include <cstdio>

namespace casync::compll {
namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 1;
  bool valid = true;
};

/// The UTF-8 character at the beginning of `text`, which is not empty. Longer forms than needed are not valid.
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  std::uint32_t code = lead & (0xffu >> (bytes + 1));
  if (lead < 0xc2 || lead > 0xf4 || bytes > text.size()) return {0, 1, false};
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {0, 1, false};
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code < kLeast[bytes] || code > 0x10ffff || surrogate) return {0, 1, false};
  return {code, bytes, true};
}

bool is_control(std::uint32_t code) { return code < 0x20 || (code >= 0x7f && code < 0xa0); }

/// Line and paragraph separators, marks that change the direction, and the byte order mark.
bool is_invisible(std::uint32_t code) {
  return code == 0x061c || code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

std::string message_of(const Character& character) {
  char text[64];
  if (!character.valid) return "a byte that is no text";
  if (is_control(character.code)) {
    std::snprintf(text, sizeof text, "the control character 0x%02x", static_cast<unsigned>(character.code));
  } else {
    std::snprintf(text, sizeof text, "the invisible character U+%04X", static_cast<unsigned>(character.code));
  }
  return text;
}

}  // namespace

std::optional<RefusedCharacter> find_refused_character(std::string_view text, std::size_t from) {
  while (from < text.size()) {
    const Character character = first_character(text.substr(from));
    const bool ends_line = text.substr(from).starts_with("\r\n");
    const bool allowed = character.code == '\t' || character.code == '\n' || ends_line;
    if (!character.valid || (is_control(character.code) && !allowed) || is_invisible(character.code)) {
      return RefusedCharacter{{from, from + character.bytes}, message_of(character)};
    }
    from += character.bytes;
  }
  return std::nullopt;
}

std::string without_controls(std::string_view text) {
  std::string made;
  for (std::size_t i = 0; i < text.size();) {
    const Character character = first_character(text.substr(i));
    const bool allowed = character.code == '\t' || character.code == '\n';
    const bool shown = character.valid && (allowed || !(is_control(character.code) || is_invisible(character.code)));
    made += shown ? std::string(text.substr(i, character.bytes)) : "?";
    i += character.bytes;
  }
  return made;
}

}  // namespace casync::compll
