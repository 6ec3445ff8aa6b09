// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/control/fd.h"
#include "runtime/control/group.h"
#include "runtime/device/device.h"
#include "runtime/executor/executor.h"
#include "runtime/session/agreement.h"
#include "runtime/session/declarations.h"
#include "runtime/session/gradient_sampler.h"
#include "runtime/session/prediction_watch.h"
#include "runtime/session/program_clock.h"
#include "runtime/session/recorder.h"
#include "runtime/session/session.h"

namespace casync::runtime {

/// Session over Group and Executor. Opening is in session_open.cc, the comparison before a gradient's first step in
/// session_seal.cc, failures in session_failure.cc, state in session_state.cc, reports in session_report.cc.
class SessionImpl final : public Session {
 public:
  static Result<std::unique_ptr<Session>> open(const SessionOptions& options);
  ~SessionImpl() override;

  Rank rank() const override { return launch_.rank; }
  int ranks() const override { return launch_.ranks; }
  const Topology& topology() const override { return topology_; }
  Exchanged exchanged() const override;
  Result<GradientId> declare(const GradientSpec& gradient) override;
  Status submit(std::span<const Submission> submissions, std::span<Handle> handles) override;
  Status wait(Handle handle, double timeout_s, Waiter waiter) override;
  bool done(Handle handle) const override;
  Status note_exposed(Handle handle, double seconds) override;
  Result<StepResult> step() override;
  SessionStats stats() const override;
  Result<SessionState> state() const override;
  Status load_state(const SessionState& state) override;
  void abort(const std::string& reason) override;
  Status close() override;

 private:
  /// The last submission of a gradient.
  struct Submitted {
    std::uint32_t steps = 0;         ///< 1 + its step; 0: none
    std::uint64_t call = 0;          ///< the submit() that named it last, valid or not
    Clock::time_point since;         ///< when
    Clock::time_point waited_since;  ///< when somebody first waited for it; the clock's zero: nobody did
  };

  SessionImpl(const SessionOptions& options, Launch launch, Plan plan);
  Status connect();
  Status open_executor();
  Facts settings() const;

  bool forked() const;
  Status usable() const;
  Status failure() const;
  std::string named(Rank peer) const;
  void peer_broke(Rank peer, const Status& status);
  void peer_left(Rank peer);
  void peer_compares(std::uint64_t comparisons);
  void end_here(const Status& cause);
  bool note_gone(const Status& why);
  Status end_with(const Status& cause);
  Status end_late(const GradientRun& run, const Status& cause);

  bool sealed() const { return runs_.size() == declared_.size() && executor_->comparisons() >= comparisons_due_; }
  Status seal();
  Status compare(const std::vector<Declared>& declared, Facts facts);
  Status add_runs(std::span<const Declared> declared, std::size_t known);
  void warn_of_strangers();

  Status check(std::span<const Submission> submissions);
  Status check(const Submission& one) const;
  void start(std::span<const Submission> submissions, std::span<Handle> handles);
  Result<GradientRun*> run_of(Handle handle) const;
  Status wait_for(GradientRun& run, std::uint32_t step, Clock::time_point deadline, Clock::time_point since);
  Status wait_for_step();
  StepResult commit();
  void record_step();
  Status say_goodbye();
  Status check_state(const GradientRun& run, const GradientState& state) const;
  static void adopt_state(GradientRun& run, const GradientState* state, std::uint32_t step);
  void write_trace() const;
  void write_record() const;
  void write_samples();
  std::vector<GradientSpec> declared_specs() const;
  bool records() const { return !options_.record_directory.empty() && plan_.mode == SyncMode{}; }
  /// What the step under way exchanges is what the plan's codecs encode. Under mutex_.
  bool samples() const {
    return sampler_ &&
           exchanged_in(plan_.mode, step_) == (plan_.mode.is_local() ? Exchanged::kDifferences : Exchanged::kGradients);
  }
  void watch(double step_s);
  /// For the recorder, under mutex_. Once nobody asks how long the program computed, by the wall's clock, which costs
  /// nothing.
  Clock::time_point program_now() const;
  Clock::time_point deadline() const { return after(Seconds(options_.timeout_s)); }

  const SessionOptions options_;
  const Launch launch_;
  const unsigned generation_ = fork_generation();
  const Plan plan_;
  Topology topology_;  ///< written before open() returns
  std::unique_ptr<Timeline> timeline_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Executor> executor_;  // before group_: the group's callbacks use it until the group is gone
  std::unique_ptr<Group> group_;

  std::mutex seal_mutex_;           ///< one at a time compares declarations
  mutable std::mutex mutex_;        ///< what follows
  std::vector<Declared> declared_;  ///< by GradientId
  std::map<std::string, GradientId> ids_;
  std::vector<GradientRun*> runs_;       ///< by GradientId; the executor owns them; shorter until seal()
  std::vector<Submitted> submitted_;     ///< by GradientId
  std::vector<Executor::Start> starts_;  ///< of one submit(); keeps its memory
  std::uint64_t submit_calls_ = 0;
  std::map<std::string, GradientState> waiting_state_;  ///< loaded before its gradient was sealed
  bool strangers_unsaid_ = false;                       ///< what never was declared has not been warned of
  bool loaded_ = false;                                 ///< a state, since the last comparison
  std::uint64_t comparisons_due_ = 0;                   ///< before the next submission: somebody has loaded a state
  std::uint32_t step_ = 0;
  std::uint32_t steps_here_ = 0;  ///< ended in this session, loaded ones apart
  Clock::time_point step_begun_;
  double spent_s_ = 0;  ///< processor time of the executor's threads beyond codecs until then; with a timeline
  Status gone_;         ///< why the first rank to go can no longer take part
  std::uint64_t first_step_allocations_ = 0;
  std::optional<PredictionWatch> watch_;
  mutable std::optional<Recorder> recorder_;  ///< done() tells it something, too
  mutable ProgramClock program_clock_;        ///< of recorder_
  std::optional<GradientSampler> sampler_;
  bool closed_ = false;
};

}  // namespace casync::runtime
