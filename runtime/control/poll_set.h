// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "runtime/control/deadline.h"

namespace casync::runtime {

/// The descriptors that one sleep waits for; the owner fills it again for each sleep. One thread.
class PollSet {
 public:
  /// Called when the descriptor is ready (readable, writable or broken). It may close descriptors and destroy
  /// connections, its own as well: the owner looks things up by rank, not by address.
  using Handler = std::function<void()>;

  void clear();
  void add(int fd, bool output, Handler handler);
  /// Sleeps until something is ready or the deadline.
  void sleep(Clock::time_point deadline);
  /// Runs the handlers of the descriptors that were ready at the end of the last sleep.
  void run_handlers();

 private:
  std::vector<pollfd> entries_;
  std::vector<Handler> handlers_;
};

}  // namespace casync::runtime
