// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <utility>

namespace casync {

/// A file descriptor with one owner. A forked child inherits it, unlike runtime::Fd (runtime/control/wire/fd.h), which
/// is for connections of a job.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd() { reset(); }

  /// The descriptor, which stays owned; -1: none.
  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  /// Closes it.
  void reset() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

}  // namespace casync
