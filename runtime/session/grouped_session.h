// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime/session/group_table.h"
#include "runtime/session/group_waits.h"
#include "runtime/session/grouped_step.h"
#include "runtime/session/run_record.h"
#include "runtime/session/single_close.h"
#include "runtime/session/wrapping_session.h"

namespace casync::runtime {

/// A session whose plan has groups of gradients that are sent as one.
///
/// It wraps a session that knows a group as one gradient. The members' elements are copied into the group's memory as
/// they are submitted, the last one starts the group, and each member gets its part of the result at the first look for
/// it, at the latest in step(). Members that lie one after the other are the group's memory themselves. States,
/// reports and records have the members' names. On a device a stream of the group's copies, behind what the program's
/// streams write.
///
/// A group has the members that have been declared when all that the plan names are, or at the end of the submissions
/// of the first step in which one was submitted, or when a state of it is loaded, whichever is first; later ones are
/// refused. An asynchronous rank that closes without such a step has its groups by then, because the others wait for
/// what it has declared.
class GroupedSession final : public WrappingSession {
 public:
  /// `device`, `plan`, `timeout_s` and `record_directory`: those that the session was opened with. `ranks` and
  /// `paces`: the session's.
  GroupedSession(std::unique_ptr<Session> session, Device& device, const Plan& plan, double timeout_s,
                 const std::string& record_directory, const RecordedRanks& ranks, std::shared_ptr<RankPaces> paces);
  ~GroupedSession() override;

  Status begin_consensus() override;
  void end_submissions() override;
  Result<GradientId> declare(const GradientSpec& gradient) override;
  Status submit(std::span<const Submission> submissions, std::span<Handle> handles) override;
  /// Errors besides Session's. Timeout: some members of the group have not been submitted; names the first.
  /// InvalidArgument: the same after end_submissions(), when no more come. Or the error for which end_submissions()
  /// could not send the group. wait_any(), by which completions wait, returns these once all other handles are done:
  /// these submissions are void then, and their memory is the program's.
  Status wait(Handle handle, double timeout_s, Waiter waiter) override;
  bool done(Handle handle) const override { return !forked() && waits_.done(handle); }
  Status wait_any(std::span<const Handle> handles, Clock::time_point until, const std::atomic<bool>& interrupted,
                  std::vector<Handle>* done) override;
  void nudge() override;
  Status note_exposed(Handle handle, double seconds) override;
  /// InvalidArgument, besides: only some members of a group have been submitted. The step goes on, and waits for them
  /// end as after end_submissions().
  Result<StepResult> step() override;
  SessionStats stats() const override { return session_->stats(); }
  Result<SessionState> state() const override;
  Status load_state(const SessionState& state) override;
  void abort(const std::string& reason) override;
  Status close() override;

 private:
  // Under submit_mutex_. They put into starts_ what leaves for the wrapped session.
  Status gather(std::span<const Submission> submissions);
  /// Closes the groups that a step's submissions have left open, and starts those that are whole. Errors: as declare()
  /// and submit(); the groups that can go have gone.
  Status start_open_groups();
  void tell_waits();
  Status leave();

  /// One thread at a time submits, begins a consensus, ends a step or loads a state. Taken ahead of lock_.
  std::mutex submit_mutex_;
  const std::shared_ptr<RankPaces> paces_;
  std::unique_ptr<RunRecord> record_;  ///< null: nothing is recorded here; under lock_, as are step_ and table_
  GroupedStep step_;
  GroupTable table_;
  GroupWaits waits_;
  std::vector<Submission> starts_;  ///< of one submission; keeps its memory, as does:
  std::vector<Handle> started_;
  SingleClose close_;
};

}  // namespace casync::runtime
