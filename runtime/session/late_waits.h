// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "runtime/session/late_failure.h"
#include "runtime/session/late_gradients.h"
#include "runtime/session/late_steps.h"
#include "runtime/session/session.h"
#include "runtime/session/session_lock.h"

namespace casync::runtime {

/// Waits for results that come late: until the step that makes one is reduced, then until the result, which is handed
/// over here, is in the program's memory. Threads of the program; takes the session's lock where it does not say
/// otherwise. A device that fails ends the job.
class LateWaits {
 public:
  /// Borrows all of these. A device that copies a result for longer than `limit` ends the job.
  LateWaits(Session& session, SessionLock& lock, const LateSteps& steps, LateGradients& gradients, LateFailure& failure,
            Seconds limit)
      : session_(session), lock_(lock), steps_(steps), gradients_(gradients), failure_(failure), limit_(limit) {}

  // As Session's.
  bool done(Handle handle) const;
  Status wait(Handle handle, double timeout_s, Waiter waiter);
  Status wait_any(std::span<const Handle> handles, Clock::time_point until, const std::atomic<bool>& interrupted,
                  std::vector<Handle>* done);
  Status note_exposed(Handle handle, double seconds);

  // With `lock` held, which it lets go of while it waits.
  /// Hands over all results, which are there, also those of submissions that come meanwhile, and returns once they are
  /// in the program's memory. Timeout: a device has not copied them within the session's limit; the memory of both
  /// stays in use, and the job has ended.
  Status hand_over_all(std::unique_lock<std::mutex>& lock);
  /// Waits for copies that are under way still, as long as one may take.
  void wait_for_copies(std::unique_lock<std::mutex>& lock);

 private:
  /// Some handles as wait_any() finds them.
  struct Looked {
    std::vector<Handle> waiting, reductions;  ///< handles whose reductions have begun; these
    bool copies = false;                      ///< a device copies some result
  };

  bool is_reduced(const LateGradient& gradient) const { return steps_.has_reduced(gradient.due()); }
  Status look(std::span<const Handle> handles, Looked* looked, std::vector<Handle>* done);
  Status wait_for_news(Clock::time_point until, const std::atomic<bool>& interrupted,
                       std::unique_lock<std::mutex>& lock);
  bool is_late(const LateGradient& gradient, Clock::time_point now) const {
    return now >= gradient.handed_over_at() + std::chrono::duration_cast<Clock::duration>(limit_);
  }
  Status take_result(Handle handle, Clock::time_point deadline, std::unique_lock<std::mutex>& lock);

  Session& session_;
  SessionLock& lock_;
  const LateSteps& steps_;
  LateGradients& gradients_;
  LateFailure& failure_;
  const Seconds limit_;
};

}  // namespace casync::runtime
