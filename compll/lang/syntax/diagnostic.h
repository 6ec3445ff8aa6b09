// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "compll/lang/source.h"

namespace casync::compll {

/// A mistake in a program. `message` starts in lower case, quotes code in backticks, says what was seen. `hint` says
/// what to write instead, and may be empty.
struct Diagnostic {
  Span at;
  std::string message;
  std::string hint;
};

/// The shortest decimal that reads back as this number: `0`, `12`, `0.1`.
std::string number_text(double value);

/// The line of a place: `line 3`, of a program of two files `line 3 of decode.pse`.
std::string line_in_words(const Source& source, Span at);

/// FILE:LINE:COLUMN: error: MESSAGE, the line, a caret below what is meant, the hint.
std::string render(const Source& source, const Diagnostic& diagnostic);

/// All diagnostics of one source, in the order of the text. Beyond kMost none is kept: one mistake causes many.
class Diagnostics {
 public:
  static constexpr std::size_t kMost = 20;

  explicit Diagnostics(const Source& source) : source_(source) {}
  Diagnostics(const Diagnostics&) = delete;
  Diagnostics& operator=(const Diagnostics&) = delete;

  const Source& source() const { return source_; }
  void add(Span at, std::string message, std::string hint = "");
  bool empty() const { return found_.empty(); }
  bool full() const { return found_.size() >= kMost; }
  const std::vector<Diagnostic>& found() const { return found_; }

  /// OK if there are none. InvalidArgument: the rendered diagnostics, one below the other.
  Status status() const;

 private:
  const Source& source_;
  std::vector<Diagnostic> found_;
};

}  // namespace casync::compll
