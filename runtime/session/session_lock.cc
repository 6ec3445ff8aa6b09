// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/session_lock.h"

#include <thread>

#include "runtime/session/copy_waits.h"

namespace casync::runtime {

void SessionLock::pause(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  std::this_thread::sleep_for(kCopyPause);
  lock.lock();
}

}  // namespace casync::runtime
