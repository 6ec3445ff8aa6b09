// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/syntax/diagnostic.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "compll/lang/syntax/characters.h"

namespace casync::compll {
namespace {

/// `with` below each character of a text, and tabs below its tabs. A character of UTF-8 may have several bytes.
std::string below(std::string_view text, char with) {
  std::string made;
  for (const char byte : text) {
    const bool begins_character = (byte & 0xc0) != 0x80;
    if (begins_character) made += byte == '\t' ? '\t' : with;
  }
  return made;
}

}  // namespace

std::string number_text(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}

std::string render(const Source& source, const Diagnostic& diagnostic) {
  if (diagnostic.at.begin > source.text().size()) {  // the prelude's: its lines are not in this source
    return without_controls(source.name()) + ": error: " + diagnostic.message +
           ", in a function that every program may use\n";
  }
  const Position from = source.position_in_file(diagnostic.at.begin);
  const std::string_view line = source.line(source.position(diagnostic.at.begin).line);
  const std::string_view ahead = line.substr(0, from.column - 1);
  const std::string_view meant = line.substr(ahead.size(), diagnostic.at.end - diagnostic.at.begin);
  const std::string number = std::to_string(from.line);
  const std::string margin(number.size() + 1, ' ');
  std::string caret = below(without_controls(meant), '~');
  caret.replace(0, 1, "^");
  std::string text = without_controls(source.file_at(diagnostic.at.begin)) + ":" + number + ":" +
                     std::to_string(from.column) + ": error: " + diagnostic.message + "\n " + number + " | " +
                     without_controls(line) + "\n " + margin + "| " + below(without_controls(ahead), ' ') + caret +
                     "\n";
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
