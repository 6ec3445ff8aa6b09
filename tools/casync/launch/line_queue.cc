// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/launch/line_queue.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

namespace casync::tools {
namespace {

constexpr std::size_t kLargestText = 64 << 10;

/// The begin of the text that one call writes: a pipe that poll() calls writable takes it without waiting. Whole lines
/// if there are any, as messages of this program may come between two calls.
std::string_view first_piece(std::string_view text) {
  if (text.size() <= PIPE_BUF) return text;
  const std::string_view most = text.substr(0, PIPE_BUF);
  const std::size_t end = most.find_last_of("\r\n");
  return end == most.npos ? most : most.substr(0, end + 1);
}

bool is_full_disk(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

}  // namespace

void LineQueue::add(int descriptor, std::string_view line) {
  if (dropped_ || line.empty()) return;
  if (texts_.empty()) moved_ = Clock::now();
  if (!texts_.empty() && texts_.back().descriptor == descriptor && texts_.back().text.size() < kLargestText) {
    texts_.back().text += line;
  } else {
    texts_.push_back({descriptor, std::string(line), 0});
  }
  bytes_ += line.size();
}

void LineQueue::add_next(int descriptor, std::string_view line) {
  if (dropped_ || line.empty()) return;
  if (texts_.empty()) moved_ = Clock::now();
  const bool waits = !texts_.empty() && texts_.front().is_in_line();
  texts_.insert(texts_.begin() + (waits ? 1 : 0), Text{descriptor, std::string(line), 0});
  bytes_ += line.size();
}

void LineQueue::write() {
  while (!texts_.empty()) {
    Text& first = texts_.front();
    pollfd writable{first.descriptor, POLLOUT, 0};
    if (::poll(&writable, 1, 0) <= 0) return;
    const std::string_view piece = first_piece(std::string_view(first.text).substr(first.written));
    const ssize_t count = ::write(first.descriptor, piece.data(), piece.size());
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && is_full_disk(errno)) error_ = errno;
    const std::size_t done = count < 0 ? piece.size() : static_cast<std::size_t>(count);
    first.written += done;
    bytes_ -= done;
    moved_ = Clock::now();
    if (first.written == first.text.size()) texts_.pop_front();
  }
}

void LineQueue::drop() {
  texts_.clear();
  bytes_ = 0;
  dropped_ = true;
}

}  // namespace casync::tools
