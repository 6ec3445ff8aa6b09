// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/doorbell.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

namespace casync::runtime {
namespace {

timespec time_left(Clock::time_point deadline) {
  const auto left = std::max(Clock::duration::zero(), deadline - Clock::now());
  // Capped: a deadline of time_point::max() must not overflow, and the caller's loop comes back anyway.
  const auto capped = std::min<std::chrono::nanoseconds>(left, std::chrono::hours(1));
  return {.tv_sec = static_cast<time_t>(capped.count() / 1'000'000'000),
          .tv_nsec = static_cast<long>(capped.count() % 1'000'000'000)};
}

}  // namespace

Doorbell::Doorbell() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)), error_(fd_ < 0 ? errno : 0) {}

Doorbell::~Doorbell() {
  if (fd_ >= 0) close(fd_);
}

Status Doorbell::status() const {
  if (fd_ >= 0) return Status::ok();
  return unavailable(std::string("cannot make an event descriptor: ") + std::strerror(error_));
}

void Doorbell::ring() {
  // Both flags sequentially consistent: either the sleeper sees rung_, or we see sleeping_.
  rung_.store(true);
  if (!sleeping_.load()) return;
  const int saved_errno = errno;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(fd_, &one, sizeof one);  // fails only when it is rung already
  errno = saved_errno;
}

void Doorbell::sleep(int also_fd, Clock::time_point deadline) {
  sleeping_.store(true);
  if (!rung_.load()) {
    pollfd fds[2] = {{fd_, POLLIN, 0}, {also_fd, POLLIN, 0}};
    const timespec left = time_left(deadline);
    ppoll(fds, also_fd >= 0 ? 2 : 1, &left, nullptr);
    std::uint64_t count = 0;
    if ((fds[0].revents & POLLIN) != 0) {
      [[maybe_unused]] const ssize_t drained = read(fd_, &count, sizeof count);
    }
  }
  sleeping_.store(false);
}

}  // namespace casync::runtime
