// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/source.h"

#include <algorithm>
#include <utility>

namespace casync::compll {

Source::Source(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {
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

}  // namespace casync::compll
