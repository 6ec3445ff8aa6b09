// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

namespace casync::runtime {

/// The mutex that the parts of a wrapping session share, and the condition by which they wake waiters.
struct SessionLock {
  /// Lets go of the lock for a moment, between two looks at copies of a device.
  static void pause(std::unique_lock<std::mutex>& lock);
  /// Leaves the condition to the threads that wait for it, which a forked child does not have.
  void leave_to_threads() { static_cast<void>(changed.release()); }

  std::mutex mutex;
  /// Notified by a nudge, and when something changes that a thread waits for.
  std::unique_ptr<std::condition_variable> changed = std::make_unique<std::condition_variable>();
};

}  // namespace casync::runtime
