// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/launch/prefixed_lines.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace casync::tools {
namespace {

constexpr std::size_t kLongestLine = 64 << 10;

/// Writes all of `text`, however long the reader takes, as a rank that wrote there itself would. A reader that is gone
/// (EPIPE) is no failure: the ranks' work is worth more than their output.
void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EAGAIN) {
      pollfd writable{descriptor, POLLOUT, 0};
      ::poll(&writable, 1, -1);
    } else if (count < 0 && errno != EINTR) {
      return;
    }
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
}

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

void PrefixedLines::put(std::string_view line) { write_all(descriptor_, prefix_ + std::string(line)); }

}  // namespace casync::tools
