// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "runtime/control/wire/fd.h"

namespace casync::runtime {

class PollSet;

/// Keeps a descriptor in its set, which outlives it. Ends while the descriptor is open.
class Watch {
 public:
  Watch() = default;
  Watch(Watch&& other) noexcept;
  Watch& operator=(Watch&& other) noexcept;
  ~Watch() { reset(); }

  void reset();
  /// Wakes the set also when the descriptor takes output.
  void want_output(bool wanted);

 private:
  friend class PollSet;
  Watch(PollSet& set, int fd, std::uint64_t id) : set_(&set), fd_(fd), id_(id) {}

  PollSet* set_ = nullptr;
  int fd_ = -1;
  std::uint64_t id_ = 0;
  bool output_ = false;
};

/// The descriptors that a thread sleeps over: a sleep costs what is ready, not what is watched. One thread.
class PollSet {
 public:
  /// Runs when the descriptor is ready (readable, writable or broken). It may end any Watch, its own as well.
  using Handler = std::function<void()>;

  /// Comes first. Unavailable: out of descriptors.
  Status open();
  /// Throws std::system_error where the system has no memory for it.
  [[nodiscard]] Watch watch(int fd, Handler handler);
  /// Sleeps until something is ready or the deadline.
  void sleep(Clock::time_point deadline);
  /// Runs the handlers of the descriptors that were ready at the end of the last sleep.
  void run_handlers();

 private:
  friend class Watch;
  void control(int operation, int fd, std::uint32_t events, std::uint64_t id);

  Fd epoll_;
  std::uint64_t last_id_ = 0;
  std::unordered_map<std::uint64_t, std::shared_ptr<Handler>> handlers_;  // shared: one that runs may end its Watch
  std::vector<epoll_event> ready_;
};

}  // namespace casync::runtime
