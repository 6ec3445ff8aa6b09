// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/status.h"
#include "runtime/session/late_failure.h"
#include "runtime/session/late_gradients.h"
#include "runtime/session/late_steps.h"
#include "runtime/session/session.h"
#include "runtime/session/session_lock.h"

namespace casync::runtime {

/// The thread that takes a wrapped session through the steps that the program has ended, one after the other, each with
/// its commit. A failure ends it. The thread takes the session's lock, and lets go of it while reductions go on.
class LateReductions {
 public:
  /// Borrows all of these.
  LateReductions(Session& session, SessionLock& lock, LateSteps& steps, LateGradients& gradients, LateFailure& failure)
      : session_(session), lock_(lock), steps_(steps), gradients_(gradients), failure_(failure) {}

  /// Starts the thread, unless it has been. One caller at a time, ahead of close(). Unavailable: the system has no
  /// thread left.
  Status start();
  /// Waits until all ended steps are reduced and committed, or until the failure, which it returns. `lock`, the
  /// session's, is held: until the caller lets go of it, no other step ends.
  Status settle(std::unique_lock<std::mutex>& lock) const;
  /// The program ends no more steps. Under the session's lock.
  void close();
  /// Waits until the thread has reduced the steps that have ended, or has failed. After close().
  void join();
  /// Leaves the thread to the process that has it: this one is a forked child.
  void leave_to_threads() { static_cast<void>(thread_.release()); }

 private:
  void reduce_all();
  Status reduce_next(std::unique_lock<std::mutex>& lock);

  Session& session_;
  SessionLock& lock_;
  LateSteps& steps_;
  LateGradients& gradients_;
  LateFailure& failure_;
  bool closing_ = false;  ///< under the lock
  std::unique_ptr<std::thread> thread_;
  // The thread's own.
  std::vector<Submission> starts_;  ///< of one step; keeps its memory, as does:
  std::vector<Handle> started_;
};

}  // namespace casync::runtime
