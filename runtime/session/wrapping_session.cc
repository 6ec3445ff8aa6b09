// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/wrapping_session.h"

#include <chrono>
#include <thread>

namespace casync::runtime {
namespace {

// Less than a large copy takes, and more than a look at an event.
constexpr std::chrono::microseconds kPause{50};

}  // namespace

void WrappingSession::pause(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  std::this_thread::sleep_for(kPause);
  lock.lock();
}

void WrappingSession::nudge() {
  if (forked()) return;
  {
    std::lock_guard lock(mutex_);  // who has looked already sleeps by now, and hears it
    changed_->notify_all();
  }
  session_->nudge();
}

}  // namespace casync::runtime
