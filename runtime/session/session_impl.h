// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "casync/strategies/owners.h"
#include "runtime/control/fd.h"
#include "runtime/session/agreement.h"
#include "runtime/session/declarations.h"
#include "runtime/session/device_sampler.h"
#include "runtime/session/farewell.h"
#include "runtime/session/gone_ranks.h"
#include "runtime/session/gradient_sampler.h"
#include "runtime/session/handles.h"
#include "runtime/session/job_end.h"
#include "runtime/session/late_names.h"
#include "runtime/session/prediction_watch.h"
#include "runtime/session/session.h"
#include "runtime/session/session_parts.h"
#include "runtime/session/step_moments.h"

namespace casync::runtime {

/// The name under which ranks compare a gradient.
std::string claim_name(const GradientSpec& gradient);

/// Session over Group and Executor. Opening is in session_open.cc, comparisons with other ranks in session_seal.cc,
/// failures in session_failure.cc, state in session_state.cc, reports in session_report.cc.
///
/// Each gradient is claimed by the first submit() or step() after its declaration. Once all ranks have claimed it the
/// progress thread makes its run. Submissions made earlier are held until then.
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
  Status submit(std::span<const Submission> submissions, std::span<Handle> handles) override;
  Status wait(Handle handle, double timeout_s, Waiter waiter) override;
  bool done(Handle handle) const override;
  Status wait_any(std::span<const Handle> handles, const std::atomic<bool>& interrupted,
                  std::vector<Handle>* done) override;
  void nudge() override;
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

  /// A submission of a gradient that some rank has not declared yet.
  struct Held {
    std::size_t gradient = 0;
    std::uint32_t step = 0;
    Submission submission;
  };

  SessionImpl(const SessionOptions& options, Launch launch, Plan plan, std::unique_ptr<Device> device);
  Status connect();
  Status check_all_submitted();
  void agreed(const Agreement& agreement);

  bool forked() const;
  Status usable() const;
  void peer_compares(std::uint64_t comparisons);

  bool steps_compared() const { return parts_.executor->comparisons() >= comparisons_due_; }
  Status compare_steps();
  void claim_declared();
  Status open_gradients(const Agreement& agreement);
  std::vector<std::size_t> owners_of(std::span<const Declared> declared, bool in_turn);
  Status take_in(std::span<const std::size_t> ids, std::vector<std::unique_ptr<GradientRun>> runs);
  void start_held();
  Status wait_until_open(const std::function<bool()>& is_open, Clock::time_point deadline);
  Status wait_for_held(Clock::time_point deadline);
  Result<GradientRun*> wait_for_run(Handle handle, Clock::time_point deadline, Clock::time_point last);
  void warn_of_strangers();

  Status check(std::span<const Submission> submissions);
  Status check(const Submission& one) const;
  Status note_ready(std::span<const Submission> submissions);
  Exchanged exchanged_now() const;
  GradientRun* gossip_of(const GradientRun& run) const;
  Executor::Start start_of(GradientRun* run, std::uint32_t step, const Submission& submission) const;
  void start(std::span<const Submission> submissions, std::span<Handle> handles);
  Result<GradientRun*> run_of(Handle handle) const;
  Status wait_for(GradientRun& run, std::uint32_t step, Clock::time_point deadline, Clock::time_point since);
  /// The first of `handles` whose time is over, and when. Under mutex_.
  struct Earliest {
    Handle handle{};
    Clock::time_point last = Clock::time_point::max();
  };
  Result<Earliest> begin_wait(std::span<const Handle> handles, std::vector<Executor::Awaited>* awaited);
  Status wait_for_step(Clock::time_point until);
  bool is_complete() const;
  Result<StepResult> commit();
  Status begin_anew();
  void record_step();
  void waited(GradientRun& run, std::uint32_t step, Clock::time_point since, Clock::time_point now);
  Farewell farewell() const;
  Status serve_others();
  Status say_goodbye(const Farewell& completed);
  Status leave(const Farewell& completed);
  Status abandon();
  void leave_to_threads();
  Status check_together(const std::string& what) const;
  Status check_committed() const;
  std::string label_of(const GradientRun& run) const;
  Status check_state(const GradientRun& run, const GradientState& state) const;
  Status adopt_state(GradientRun& run, const GradientState* state, std::uint32_t step);
  void write_trace() const;
  void write_records();
  std::vector<GradientSpec> declared_specs() const;
  /// Returns true if this session records a model; with groups the one around it does, which knows their members.
  bool records() const {
    return !parts_.options.record_directory.empty() && parts_.plan.mode == SyncMode{} && parts_.plan.groups.empty();
  }
  /// Returns true if the step under way exchanges the values that the plan's codecs encode. Under mutex_.
  bool samples() const {
    return sampler_ &&
           exchanged_now() == (parts_.plan.mode.is_local() ? Exchanged::kDifferences : Exchanged::kGradients);
  }
  Status sample_on_device(std::span<const Submission> submissions);
  void watch(double step_s);

  SessionParts parts_;
  const unsigned generation_ = fork_generation();
  GoneRanks gone_;
  JobEnd job_end_{parts_, gone_};

  LateNames late_names_;
  std::optional<Owners> owners_;            ///< written before open() returns, then the progress thread's
  std::atomic<std::uint64_t> openings_{0};  ///< changes of runs_ or held_ by an agreement
  std::mutex comparison_mutex_;             ///< one at a time compares steps
  mutable std::mutex mutex_;                ///< guards the members below
  std::vector<Declared> declared_;          ///< by GradientId
  std::map<std::string, GradientId> ids_;
  /// The place in the program's streams behind which a gradient is written.
  struct Ready {
    std::unique_ptr<Event> event;
    const Event* noted = nullptr;  ///< the event of the last submission: this one, or that of a gradient next to it
  };
  std::vector<Ready> ready_;        ///< by GradientId; of a device
  std::vector<GradientRun*> runs_;  ///< by GradientId; the executor owns them; null: not agreed yet
  std::size_t claimed_ = 0;         ///< number of declared_ that have been claimed
  std::vector<Held> held_;
  std::vector<Submitted> submitted_;     ///< by GradientId
  std::vector<MemoryShape> memory_of_;   ///< by GradientId
  std::vector<Executor::Start> starts_;  ///< of one submit(); keeps its memory
  std::uint64_t submit_calls_ = 0;
  std::map<std::string, GradientState> waiting_state_;  ///< loaded before its gradient was sealed
  bool strangers_unsaid_ = false;                       ///< the warning of gradients that were never declared is due
  bool serving_ = false;                                ///< this rank has ended its steps, and answers others
  bool all_ended_ = false;                              ///< and all have ended theirs
  bool loaded_ = false;                                 ///< a state, since the last comparison
  std::uint32_t step_ = 0;
  bool together_ = true;          ///< all ranks begin the next step together: nothing was submitted since that was so
  bool consensus_ = false;        ///< the step under way averages parameters over all ranks
  mutable bool asked_ = false;    ///< the program knows what the step under way exchanges
  std::uint32_t steps_here_ = 0;  ///< ended in this session, loaded ones apart
  Clock::time_point step_begun_;
  Clock::time_point first_submitted_, last_submitted_;  ///< in the step under way; the clock's zero: nothing was
  double spent_s_ = 0;  ///< processor time of the executor's threads beyond codecs until then; with a timeline
  std::uint64_t first_step_allocations_ = 0;
  std::optional<PredictionWatch> watch_;  ///< while it needs steps
  std::unique_ptr<StepMoments> moments_;  ///< while somebody uses them
  std::optional<GradientSampler> sampler_;
  std::unique_ptr<DeviceSampler> device_sampler_;  ///< of sampler_, on a device

  std::atomic<std::uint64_t> comparisons_due_{1};  ///< of steps, until the next submission
  bool abandoned_ = false;                         ///< the executor's threads have not ended
};

}  // namespace casync::runtime
