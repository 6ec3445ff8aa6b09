// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "runtime/session/job_end.h"
#include "runtime/session/openings.h"
#include "runtime/session/session.h"
#include "runtime/session/session_parts.h"
#include "runtime/session/session_record.h"
#include "runtime/session/session_tables.h"

namespace casync::runtime {

/// Waits for results, and the time that a program loses in them. Threads of the program; takes the session's mutex
/// where it does not say otherwise.
class ResultWaits {
 public:
  /// Borrows all of these. The parts are connected by the first call.
  ResultWaits(const SessionParts& parts, SessionTables& tables, Openings& openings, SessionRecord& record,
              JobEnd& job_end)
      : parts_(parts), tables_(tables), openings_(openings), record_(record), job_end_(job_end) {}

  // As Session's.
  bool done(Handle handle) const;
  bool has_finite_result(Handle handle) const;
  Status wait(Handle handle, double timeout_s, Waiter waiter);
  Status wait_any(std::span<const Handle> handles, Clock::time_point until, const std::atomic<bool>& interrupted,
                  std::vector<Handle>* done);
  Status note_exposed(Handle handle, double seconds);
  /// Forgets all handles: a state was loaded. A thread in wait() with one of them gets InvalidArgument. Under the
  /// session's mutex.
  void forget();

  /// Ends the submissions of the step under way and waits for all of them, and until this rank owes nothing of them to
  /// others. OK when all that had been submitted is complete, also when the job has failed since; the caller looks at
  /// is_complete() then.
  Status wait_for_step(Clock::time_point until);
  /// Returns true if nothing of the step is under way. Under the session's mutex.
  bool is_complete() const;

 private:
  /// The first of some handles whose time is over, and when.
  struct Earliest {
    Handle handle{};
    Clock::time_point last = Clock::time_point::max();
  };

  Result<Earliest> begin(std::span<const Handle> handles, std::vector<StepWaits::Awaited>* awaited);
  Status wait_for(GradientRun& run, std::uint32_t step, Clock::time_point deadline, Clock::time_point since,
                  const std::function<bool()>& is_forgotten) const;
  void waited(GradientRun& run, std::uint32_t step, Clock::time_point since, Clock::time_point now) const;
  void show_wait(GradientRun& run, std::uint32_t step, Clock::time_point since, Clock::time_point now) const;
  Clock::duration timeout() const;

  const SessionParts& parts_;
  SessionTables& tables_;
  Openings& openings_;
  SessionRecord& record_;
  JobEnd& job_end_;
  std::atomic<std::uint64_t> forgotten_{0};  ///< so many times; grows under the session's mutex
};

}  // namespace casync::runtime
