// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace casync::compll {

/// A stretch of a source, in bytes: from `begin` to before `end`.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// From the first to the last of two stretches.
inline Span between(Span first, Span last) { return {first.begin, last.end}; }

/// Where a reader of the file finds a byte; both count from 1, columns in bytes.
struct Position {
  std::size_t line = 1;
  std::size_t column = 1;
};

/// The text of one file. Everything that is made from it points into it, so it outlives all of that.
class Source {
 public:
  Source(std::string name, std::string text);

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }
  std::string_view text(Span span) const { return text().substr(span.begin, span.end - span.begin); }

  Position position(std::size_t offset) const;
  /// A line without its end.
  std::string_view line(std::size_t number) const;

 private:
  std::string name_;
  std::string text_;
  std::vector<std::size_t> line_begins_;
};

}  // namespace casync::compll
