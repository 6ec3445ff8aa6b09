// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/wrapping_session.h"

namespace casync::runtime {

void WrappingSession::nudge() {
  if (forked()) return;
  {
    std::lock_guard lock(mutex_);  // who has looked already sleeps by now, and hears it
    changed_->notify_all();
  }
  session_->nudge();
}

}  // namespace casync::runtime
