// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/poll_set.h"

#include "runtime/control/socket.h"

namespace casync::runtime {

void PollSet::clear() {
  entries_.clear();
  handlers_.clear();
}

void PollSet::add(int fd, bool output, Handler handler) {
  entries_.push_back({fd, static_cast<short>(output ? POLLIN | POLLOUT : POLLIN), 0});
  handlers_.push_back(std::move(handler));
}

void PollSet::sleep(Clock::time_point deadline) {
  if (poll(entries_.data(), entries_.size(), poll_timeout(deadline)) > 0) return;
  for (pollfd& entry : entries_) entry.revents = 0;
}

void PollSet::run_handlers() {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].revents != 0) handlers_[i]();
  }
}

}  // namespace casync::runtime
