// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/wrapping_session.h"

#include <mutex>

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

}  // namespace casync::runtime
