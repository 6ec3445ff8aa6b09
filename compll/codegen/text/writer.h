// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "compll/codegen/text/plain_text.h"
#include "compll/lang/source.h"

namespace casync::compll {

/// Text with indentation, and with the source's lines above their translation.
class Writer {
 public:
  explicit Writer(const Source& source) : source_(source) {}

  void line(const std::string& text) {
    if (!text.empty()) text_.append(2 * depth_, ' ').append(text);
    text_ += '\n';
  }
  /// Writes `text {`, and indents the lines that follow.
  void open(const std::string& text) {
    line(text.empty() ? "{" : text + " {");
    ++depth_;
  }
  void close(const std::string& behind = "") {
    --depth_;
    line("}" + behind);
  }
  /// Writes the source's line at this place, once while it stays the same.
  void source_line(Span at) {
    if (at.end == 0 || at.begin >= source_.text().size()) return;  // the library's own, or the prelude's
    const std::size_t number = source_.position(at.begin).line;
    if (number == last_) return;
    last_ = number;
    std::string text = comment_text(source_.line(number));
    text.erase(0, text.find_first_not_of(' '));
    line("// " + std::to_string(source_.position_in_file(at.begin).line) + ": " + text);
  }
  void forget_line() { last_ = 0; }

  /// The size of the text; and cut, which takes back the text from that size on, so that lines can go ahead of it.
  std::size_t size() const { return text_.size(); }
  std::string cut(std::size_t from) {
    std::string rest = text_.substr(from);
    text_.resize(from);
    return rest;
  }
  void append(const std::string& text) { text_ += text; }

  std::string take() { return std::move(text_); }

 private:
  const Source& source_;
  std::string text_;
  std::size_t depth_ = 0;
  std::size_t last_ = 0;
};

}  // namespace casync::compll
