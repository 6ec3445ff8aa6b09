// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "base/clock.h"
#include "base/status.h"

namespace casync::runtime {

/// Sleeping until another thread rings, or a file descriptor of the network's becomes readable.
///
/// Threads: ring() from any thread and from signal handlers; the rest from the sleeping thread only.
class Doorbell {
 public:
  Doorbell();
  ~Doorbell();
  /// Unavailable: the system had no event descriptor left. Nothing else may be called then.
  Status status() const;
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;

  /// Ends the current or the next sleep(). A system call only when somebody sleeps.
  void ring();

  /// True when somebody rang since the last time this was true.
  bool rang() { return rung_.load(std::memory_order_relaxed) && rung_.exchange(false); }

  /// Sleeps until ring(), `also_fd` (-1: none) is readable, or the deadline.
  void sleep(int also_fd, Clock::time_point deadline);

 private:
  int fd_;
  int error_ = 0;  ///< errno, where there is no descriptor
  std::atomic<bool> rung_{false};
  std::atomic<bool> sleeping_{false};
};

}  // namespace casync::runtime
