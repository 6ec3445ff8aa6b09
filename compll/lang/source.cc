// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/source.h"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace casync::compll {

Source::Source(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {
  parts_.push_back({name_, 0, 1});
  find_lines();
}

Source::Source(const std::vector<SourceFile>& files) {
  for (const SourceFile& file : files) {
    // A line that one file leaves open does not go on in the next.
    if (!parts_.empty() && !text_.ends_with('\n')) text_ += '\n';
    const auto lines = static_cast<std::size_t>(std::count(text_.begin(), text_.end(), '\n'));
    parts_.push_back({file.name, text_.size(), lines + 1});
    name_ += (name_.empty() ? "" : "+") + file.name;
    text_ += file.text;
  }
  find_lines();
}

const Source::Part& Source::part(std::size_t offset) const {
  const auto behind = std::upper_bound(parts_.begin() + 1, parts_.end(), offset,
                                       [](std::size_t at, const Part& part) { return at < part.begin; });
  return *(behind - 1);
}

Position Source::position_in_file(std::size_t offset) const {
  const Position whole = position(offset);
  return {whole.line - part(offset).first_line + 1, whole.column};
}

std::size_t Source::end_of_file_at(std::size_t offset) const {
  const Part* const next = &part(offset) + 1;
  return next == parts_.data() + parts_.size() ? text_.size() : next->begin;
}

void Source::find_lines() {
  line_begins_.push_back(0);
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_begins_.push_back(i + 1);
  }
}

Position Source::position(std::size_t offset) const {
  const auto after = std::upper_bound(line_begins_.begin(), line_begins_.end(), offset);
  const auto line = static_cast<std::size_t>(after - line_begins_.begin());
  return {line, offset - line_begins_[line - 1] + 1};
}

std::string_view Source::line(std::size_t number) const {
  const std::size_t begin = line_begins_.at(number - 1);
  std::string_view line = text().substr(begin, text_.find('\n', begin) - begin);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string codec_name_of_file(const std::string& path) {
  std::string name = std::filesystem::path(path).stem().string();
  const auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  for (char& c : name) c = is_part(c) ? c : '_';
  return name.empty() ? "codec" : name;
}

}  // namespace casync::compll
