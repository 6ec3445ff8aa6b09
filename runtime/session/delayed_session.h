// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/control/fd.h"
#include "runtime/session/session.h"

namespace casync::runtime {

/// A session whose results come one step late (`staleness: 1` in a plan): what a step submits is reduced while the next
/// one computes, and its memory gets the result of the submission before it; of a first one, zeros. The same on every
/// rank, so replicas stay identical.
///
/// It wraps a session that knows nothing of it and is one step late: step() ends the reductions of the previous step,
/// hands their results over and begins its own. Each gradient has memory of its own for that. A state contains those
/// results, as gradients "NAME (late)".
class DelayedSession final : public Session {
 public:
  explicit DelayedSession(std::unique_ptr<Session> session) : session_(std::move(session)) {}
  ~DelayedSession() override;

  Rank rank() const override { return session_->rank(); }
  int ranks() const override { return session_->ranks(); }
  const Topology& topology() const override { return session_->topology(); }
  Exchanged exchanged() const override { return session_->exchanged(); }
  void end_submissions() override { session_->end_submissions(); }
  Result<GradientId> declare(const GradientSpec& gradient) override;
  Status submit(std::span<const Submission> submissions, std::span<Handle> handles) override;
  Status wait(Handle handle, double timeout_s, Waiter waiter) override;
  bool done(Handle handle) const override;
  Status wait_any(std::span<const Handle> handles, const std::atomic<bool>& interrupted,
                  std::vector<Handle>* done) override;
  void nudge() override { session_->nudge(); }
  Status note_exposed(Handle handle, double seconds) override;
  Result<StepResult> step() override;
  SessionStats stats() const override;
  Result<SessionState> state() const override;
  Status load_state(const SessionState& state) override;
  void abort(const std::string& reason) override;
  Status close() override;

 private:
  struct Gradient {
    GradientSpec spec;
    std::vector<std::byte> memory;    ///< the elements to reduce, then their result until it is handed over
    std::optional<Handle> reduction;  ///< of one of the last two steps; none: memory has the result
    View destination;                 ///< of the last submission
    std::uint32_t steps = 0;          ///< 1 + the step of the last submission; 0: none
    std::uint64_t call = 0;           ///< the submit() that named it last, valid or not
    bool handed_over = true;          ///< the last submission has its result

    bool has_result(Handle handle) const;
  };

  bool forked() const { return fork_generation() != generation_; }
  Status check(std::span<const Submission> submissions);
  /// InvalidArgument: a handle that no submission gave. Under mutex_, as all that follows but settle().
  Result<Gradient*> gradient_of(Handle handle) const;
  void hand_over(Gradient& gradient) const;
  Status begin_reductions();
  std::ptrdiff_t under_way() const;
  Status check_late(const SessionState& state) const;
  void adopt(const SessionState& state);
  Status tell(Status status) const;
  /// Ends the previous step: its reductions are done and committed, once. Under step_mutex_.
  Status settle() const;

  const unsigned generation_ = fork_generation();
  const std::unique_ptr<Session> session_;
  mutable std::atomic<bool> told_{false};         ///< the job's failure, to the program
  mutable std::mutex step_mutex_;                 ///< one at a time ends a step
  mutable std::mutex mutex_;                      ///< guards the members below; taken after step_mutex_
  mutable std::vector<Gradient> gradients_;       ///< by GradientId; done() hands over, too
  std::map<std::string, GradientState> waiting_;  ///< results that were loaded before their gradient was declared
  std::vector<Submission> starts_;                ///< of one step; keeps its memory, as does:
  std::vector<Handle> started_;
  std::uint64_t submit_calls_ = 0;
  std::uint32_t step_ = 0;
  bool begun_ = false;                         ///< session_ has a step to end
  mutable std::optional<StepResult> settled_;  ///< the previous step's result, if it was settled earlier than step()
  bool closed_ = false;
};

}  // namespace casync::runtime
