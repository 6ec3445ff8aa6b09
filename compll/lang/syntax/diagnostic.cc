// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/syntax/diagnostic.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "compll/lang/syntax/characters.h"

namespace casync::compll {
namespace {

// Bytes that are shown of a long line, around the mistake: a file of one line would be shown whole for each mistake.
constexpr std::size_t kShownAhead = 120, kShownBehind = 200;

bool begins_character(char byte) { return (byte & 0xc0) != 0x80; }

/// The last bytes of a text, `most` of them or less, from the beginning of a character on.
std::string_view end_of(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  text.remove_prefix(text.size() - most);
  while (!text.empty() && !begins_character(text.front())) text.remove_prefix(1);
  return text;
}

/// The first bytes of a text, `most` of them or less, up to the end of a character.
std::string_view beginning_of(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most != 0 && !begins_character(text[most])) --most;
  return text.substr(0, most);
}

/// `with` below each character of a text, and tabs below its tabs. A character of UTF-8 may have several bytes.
std::string below(std::string_view text, char with) {
  std::string made;
  for (const char byte : text) {
    if (begins_character(byte)) made += byte == '\t' ? '\t' : with;
  }
  return made;
}

}  // namespace

std::string number_text(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}

std::string line_in_words(const Source& source, Span at) {
  const std::string line = "line " + std::to_string(source.position_in_file(at.begin).line);
  return source.has_several_files() ? line + " of " + without_controls(source.file_at(at.begin)) : line;
}

std::string render(const Source& source, const Diagnostic& diagnostic) {
  if (diagnostic.at.begin > source.text().size()) {  // the prelude's: its lines are not in this source
    return without_controls(source.name()) + ": error: " + diagnostic.message +
           ", in a function that every program may use\n";
  }
  const Position from = source.position_in_file(diagnostic.at.begin);
  const std::string_view line = source.line(source.position(diagnostic.at.begin).line);
  const std::string_view all_ahead = line.substr(0, from.column - 1), all_behind = line.substr(all_ahead.size());
  const std::string_view ahead = end_of(all_ahead, kShownAhead), behind = beginning_of(all_behind, kShownBehind);
  const std::string_view meant = behind.substr(0, diagnostic.at.end - diagnostic.at.begin);
  const std::string before = ahead.size() < all_ahead.size() ? "... " : "";
  const std::string after = behind.size() < all_behind.size() ? " ..." : "";
  const std::string number = std::to_string(from.line);
  const std::string margin(number.size() + 1, ' ');
  std::string caret = below(without_controls(meant), '~');
  caret.replace(0, 1, "^");
  std::string text = without_controls(source.file_at(diagnostic.at.begin)) + ":" + number + ":" +
                     std::to_string(from.column) + ": error: " + diagnostic.message + "\n " + number + " | " + before +
                     without_controls(ahead) + without_controls(behind) + after + "\n " + margin + "| " +
                     std::string(before.size(), ' ') + below(without_controls(ahead), ' ') + caret + "\n";
  if (!diagnostic.hint.empty()) text += " " + margin + "= hint: " + diagnostic.hint + "\n";
  return text;
}

void Diagnostics::add(Span at, std::string message, std::string hint) {
  if (full()) return;
  found_.push_back({at, std::move(message), std::move(hint)});
}

Status Diagnostics::status() const {
  if (empty()) return Status::ok();
  std::vector<Diagnostic> ordered = found_;
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.at.begin < b.at.begin; });
  std::string text;
  for (const Diagnostic& diagnostic : ordered) text += render(source_, diagnostic);
  text.pop_back();  // the last line's end
  return invalid_argument(std::move(text));
}

}  // namespace casync::compll
