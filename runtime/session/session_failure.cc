// SPDX-License-Identifier: Apache-2.0
//
// The end of a session: in a forked child, by the program, and when it is freed.
#include <fmt/format.h>
#include <unistd.h>

#include "runtime/session/session_impl.h"

namespace casync::runtime {
SessionImpl::~SessionImpl() {
  if (forked()) {
    // Threads that do not exist cannot be joined, and what they owned is the parent's, like the device's context.
    static_cast<void>(parts_.group.release());
    leave_to_threads();
  } else if (parts_.executor) {
    static_cast<void>(close());
    if (abandoned_) leave_to_threads();
  }
}

void SessionImpl::leave_to_threads() {
  parts_.leave_to_threads();
  static_cast<void>(new auto(std::move(ready_)));  // events of the device, which tasks wait for
  static_cast<void>(moments_.release());
  static_cast<void>(device_sampler_.release());
}

bool SessionImpl::forked() const { return fork_generation() != generation_; }

Status SessionImpl::usable() const {
  if (!forked()) return Status::ok();
  return unavailable(
      fmt::format("process {} is a fork of the one whose session this is: open sessions after forking, "
                  "or start workers with \"spawn\"",
                  getpid()));
}

void SessionImpl::peer_compares(std::uint64_t comparisons) {
  std::uint64_t due = comparisons_due_.load();
  while (due < comparisons && !comparisons_due_.compare_exchange_weak(due, comparisons)) {
  }
}

void SessionImpl::abort(const std::string& reason) {
  if (!forked()) job_end_.abort(reason);
}

}  // namespace casync::runtime
