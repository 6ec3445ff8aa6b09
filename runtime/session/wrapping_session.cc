// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/wrapping_session.h"

#include <fmt/format.h>

#include <mutex>

#include "runtime/session/handles.h"

namespace casync::runtime {

void WrappingSession::nudge() {
  if (forked()) return;
  {
    std::lock_guard lock(lock_.mutex);  // who has looked already sleeps by now, and hears it
    lock_.changed->notify_all();
  }
  session_->nudge();
}

Status end_with(Session& session, Status status) {
  session.abort(status.message());
  return status;
}

Status on_its_way(const GradientSpec& gradient, Handle handle) {
  return timeout_error(
      fmt::format("gradient {}, step {}: its result is on its way to its memory", gradient.name, step_of(handle)));
}

}  // namespace casync::runtime
