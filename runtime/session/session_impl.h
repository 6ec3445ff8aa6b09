// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/control/wire/fd.h"
#include "runtime/session/departure.h"
#include "runtime/session/gone_ranks.h"
#include "runtime/session/job_end.h"
#include "runtime/session/openings.h"
#include "runtime/session/ready_events.h"
#include "runtime/session/result_waits.h"
#include "runtime/session/session.h"
#include "runtime/session/session_parts.h"
#include "runtime/session/session_record.h"
#include "runtime/session/session_report.h"
#include "runtime/session/session_states.h"
#include "runtime/session/session_tables.h"
#include "runtime/session/single_close.h"
#include "runtime/session/step_comparisons.h"
#include "runtime/session/step_starts.h"

namespace casync::runtime {

/// Session over Group and Executor: takes each call to the parts that do it, in order, and sees to forks. Opening is in
/// session_open.cc.
class SessionImpl final : public Session {
 public:
  static Result<std::unique_ptr<Session>> open(const SessionOptions& options);
  ~SessionImpl() override;

  Rank rank() const override { return parts_.launch.rank; }
  int ranks() const override { return parts_.launch.ranks; }
  const Topology& topology() const override { return parts_.topology; }
  Exchanged exchanged() const override;
  Status begin_consensus() override;
  void end_submissions() override;
  Result<GradientId> declare(const GradientSpec& gradient) override;
  Result<GradientId> declare_copied(const GradientSpec& gradient, std::optional<Rank> root) override;
  Status submit(std::span<const Submission> submissions, std::span<Handle> handles) override;
  Status wait(Handle handle, double timeout_s, Waiter waiter) override;
  bool done(Handle handle) const override { return !forked() && waits_.done(handle); }
  bool has_finite_result(Handle handle) const override { return !forked() && waits_.has_finite_result(handle); }
  Status wait_any(std::span<const Handle> handles, Clock::time_point until, const std::atomic<bool>& interrupted,
                  std::vector<Handle>* done) override;
  void nudge() override;
  Status note_exposed(Handle handle, double seconds) override;
  Status failure() const override;
  Result<StepResult> step() override;
  SessionStats stats() const override;
  Result<SessionState> state() const override;
  Status load_state(const SessionState& state) override;
  void abort(const std::string& reason) override;
  Status close() override;
  bool holds_memory() const override;

 private:
  SessionImpl(const SessionOptions& options, Launch launch, Plan plan, std::unique_ptr<Device> device);
  Status connect();
  bool forked() const { return fork_generation() != generation_; }
  Status usable() const;
  Result<GradientId> add(Declared declared);
  Status start(std::span<const Submission> submissions, std::span<Handle> handles);
  Status check_all_submitted() const;
  Result<StepResult> commit();
  Status leave();
  void leave_to_threads();

  SessionParts parts_;
  const unsigned generation_ = fork_generation();
  SessionTables tables_{parts_.plan.mode, *parts_.device};
  GoneRanks gone_;
  JobEnd job_end_{parts_, gone_};
  ReadyEvents ready_{*parts_.device};
  StepStarts starts_{parts_, tables_, ready_};
  SessionStates states_{parts_, tables_};
  SessionRecord record_{parts_, tables_};
  SessionReport report_{parts_, tables_};
  StepComparisons comparisons_{parts_, tables_};
  Openings openings_{parts_, tables_, starts_, states_, job_end_};
  ResultWaits waits_{parts_, tables_, openings_, record_, job_end_};
  Departure departure_{parts_, tables_, gone_, job_end_};
  SingleClose close_;
};

}  // namespace casync::runtime
