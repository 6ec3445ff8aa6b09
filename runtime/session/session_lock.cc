// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/session_lock.h"

#include <chrono>
#include <thread>

namespace casync::runtime {
namespace {

// Less than a large copy takes, and more than a look at an event.
constexpr std::chrono::microseconds kPause{50};

}  // namespace

void SessionLock::pause(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  std::this_thread::sleep_for(kPause);
  lock.lock();
}

}  // namespace casync::runtime
