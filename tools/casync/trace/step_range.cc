// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/trace/step_range.h"

#include <charconv>

namespace casync::tools {

Result<StepRange> parse_step_range(const std::string& text) {
  StepRange range;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, range.first);
  range.last = range.first;
  const char* rest = first.ptr;
  bool good = first.ec == std::errc();
  if (good && rest != end) {
    good = end - rest > 2 && rest[0] == '.' && rest[1] == '.';
    const auto last = good ? std::from_chars(rest + 2, end, range.last) : first;
    good = good && last.ec == std::errc() && last.ptr == end;
  }
  if (!good || range.first < 0 || range.last < range.first) {
    return invalid_argument("`" + text + "` is not a range of steps; write 10..20, or 10 for one");
  }
  return range;
}

}  // namespace casync::tools
