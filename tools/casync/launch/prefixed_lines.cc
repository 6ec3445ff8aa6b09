// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/launch/prefixed_lines.h"

namespace casync::tools {
namespace {

constexpr std::size_t kLongestLine = 64 << 10;

}  // namespace

void PrefixedLines::feed(std::string_view text) {
  while (!text.empty()) {
    std::size_t end = text.find_first_of("\r\n");
    if (end == std::string_view::npos) break;
    if (text.substr(end, 2) == "\r\n") ++end;
    pending_ += text.substr(0, end + 1);
    text.remove_prefix(end + 1);
    put(pending_);
    pending_.clear();
  }
  pending_ += text;
  if (pending_.size() > kLongestLine) flush();
}

void PrefixedLines::flush() {
  if (pending_.empty()) return;
  put(pending_ + "\n");
  pending_.clear();
}

}  // namespace casync::tools
