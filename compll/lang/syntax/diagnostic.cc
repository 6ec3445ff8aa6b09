// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/syntax/diagnostic.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "compll/lang/syntax/characters.h"

namespace casync::compll {
namespace {

/// The indent below a line up to `columns`: tabs where the line has them, so that a caret stands at the right column.
std::string indent_like(std::string_view line, std::size_t columns) {
  std::string indent;
  for (std::size_t i = 0; i < columns; ++i) indent += i < line.size() && line[i] == '\t' ? '\t' : ' ';
  return indent;
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
  const std::string line = without_controls(source.line(source.position(diagnostic.at.begin).line));
  const std::string number = std::to_string(from.line);
  const std::string margin(number.size() + 1, ' ');
  const std::size_t left = line.size() - std::min(line.size(), from.column - 1);
  const std::size_t length = std::min(left, diagnostic.at.end - diagnostic.at.begin);
  std::string text = without_controls(source.file_at(diagnostic.at.begin)) + ":" + number + ":" +
                     std::to_string(from.column) + ": error: " + diagnostic.message + "\n " + number + " | " + line +
                     "\n " + margin + "| " + indent_like(line, from.column - 1) + "^" +
                     std::string(length > 1 ? length - 1 : 0, '~') + "\n";
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
