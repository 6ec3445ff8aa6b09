// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace casync::compll {

/// A stretch of a source, in bytes: from `begin` up to `end`, which is outside.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// The stretch from the first to the last of two.
inline Span between(Span first, Span last) { return {first.begin, last.end}; }

/// The line and column of a byte; both count from 1, columns in bytes.
struct Position {
  std::size_t line = 1;
  std::size_t column = 1;
};

/// A file of a program.
struct SourceFile {
  std::string name;
  std::string text;
};

/// The text of a program: of one file, or of several one after the other. Everything that is made from it
/// points into it, so it outlives all of that.
class Source {
 public:
  Source(std::string name, std::string text);
  /// Takes at least one file.
  explicit Source(const std::vector<SourceFile>& files);

  /// The file's name; for several files, their names with plus signs between.
  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }
  std::string_view text(Span span) const { return text().substr(span.begin, span.end - span.begin); }

  bool has_several_files() const { return parts_.size() > 1; }

  /// The position in the whole text.
  Position position(std::size_t offset) const;
  /// A line of the whole text, without its end.
  std::string_view line(std::size_t number) const;

  /// The file that has this byte, and the place there.
  const std::string& file_at(std::size_t offset) const { return part(offset).name; }
  Position position_in_file(std::size_t offset) const;
  /// The end of that file in the whole text.
  std::size_t end_of_file_at(std::size_t offset) const;

 private:
  struct Part {
    std::string name;
    std::size_t begin = 0;       ///< in the whole text
    std::size_t first_line = 1;  ///< in the whole text
  };
  const Part& part(std::size_t offset) const;
  void find_lines();

  std::string name_;
  std::string text_;
  std::vector<Part> parts_;
  std::vector<std::size_t> line_begins_;
};

/// The name of a codec that its file does not name: the file's name up to its last point, with `_` for each byte that
/// no name of the language has. Never empty.
std::string codec_name_of_file(const std::string& path);

}  // namespace casync::compll
