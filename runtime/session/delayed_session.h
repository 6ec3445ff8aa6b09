// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/session/late_memory.h"
#include "runtime/session/wrapping_session.h"

namespace casync::runtime {

/// A session whose results come a fixed number of steps late (`staleness` in a plan): what a step submits is reduced
/// while the next ones compute, and its memory gets the result of the gradient's submission so many before it; of the
/// first ones, zeros. The same on every rank, so replicas stay identical.
///
/// It wraps a session that knows nothing of it. A thread takes that session through the program's steps, one after the
/// other, each with its commit, so residuals are those of a session without staleness. step() hands over what has
/// been reduced, and waits only if the program would be more steps ahead of the reductions than `staleness`. Each
/// gradient has that many memories of its own (LateMemory). A state contains them (runtime/session/late_states.h).
///
/// On a device a result is handed over by copies in a stream, behind what the program's stream writes. The submission
/// is done once they are over, and step() waits for those of its gradients, without a call of the device that waits.
class DelayedSession final : public WrappingSession {
 public:
  /// `staleness`: at least 1. `device`: the wrapped session's. Unavailable: as Device::make_stream().
  static Result<std::unique_ptr<Session>> wrap(std::unique_ptr<Session> session, Device& device,
                                               std::uint32_t staleness);
  ~DelayedSession() override;

  Status begin_consensus() override { return session_->begin_consensus(); }
  void end_submissions() override { session_->end_submissions(); }
  Result<GradientId> declare(const GradientSpec& gradient) override;
  Status submit(std::span<const Submission> submissions, std::span<Handle> handles) override;
  Status wait(Handle handle, double timeout_s, Waiter waiter) override;
  bool done(Handle handle) const override;
  Status wait_any(std::span<const Handle> handles, const std::atomic<bool>& interrupted,
                  std::vector<Handle>* done) override;
  Status note_exposed(Handle handle, double seconds) override;
  Result<StepResult> step() override;
  SessionStats stats() const override;
  Result<SessionState> state() const override;
  Status load_state(const SessionState& state) override;
  void abort(const std::string& reason) override;
  Status close() override;

 private:
  DelayedSession(std::unique_ptr<Session> session, Device& device, std::uint32_t staleness)
      : WrappingSession(std::move(session)), device_(device), staleness_(staleness), results_(staleness) {}

  /// One submission, and then its result until that is handed over.
  struct Slot {
    std::uint32_t steps = 0;          ///< 1 + the step of the submission in it; 0: none, or a result that was loaded
    std::optional<Handle> reduction;  ///< of that submission, once it has begun
  };
  struct Gradient {
    GradientSpec spec;
    std::vector<Slot> slots;             ///< the n-th submission takes slot n, modulo their number
    std::unique_ptr<LateMemory> memory;  ///< of the slots
    std::uint64_t submissions = 0;       ///< since the start, or since a state was loaded
    std::uint32_t steps = 0;             ///< 1 + the step of the last submission; 0: none
    std::uint64_t call = 0;              ///< the submit() that named it last, valid or not
    bool handed_over = true;             ///< the last submission has its result, or a device is copying it

    /// The slot of the last submission: until that is handed over, with the result for it.
    std::size_t slot_index() const { return (submissions - 1) % slots.size(); }
    Slot& slot() { return slots[slot_index()]; }
    /// The slot whose result the k-th submission from now gets; k from 0.
    std::size_t next_slot(std::uint64_t k) const { return (submissions + k) % slots.size(); }
    bool is_handed_over(Handle handle) const;
    Result<bool> has_result(Handle handle) const;
  };

  Status check(std::span<const Submission> submissions);
  /// InvalidArgument: a handle that no submission gave. Under mutex_, as all that follows but settle() and
  /// reduce_all().
  Result<Gradient*> gradient_of(Handle handle) const;
  bool is_reduced(const Slot& slot) const { return slot.steps <= reduced_; }
  Status hand_over(Gradient& gradient) const;
  Status take_result(Handle handle, Clock::time_point deadline, std::unique_lock<std::mutex>& lock);
  Result<bool> hand_over_all();
  bool may_end_step() const { return reduced_ + staleness_ > step_; }
  std::ptrdiff_t under_way() const;
  Status check_late(const SessionState& state) const;
  Status take_late(Gradient& gradient);
  Status adopt(const SessionState& state);
  Status tell(Status status) const;
  Status end_with(const Status& status);
  Status start_reducing();
  /// The thread: reduces one ended step after the other.
  void reduce_all();
  Status reduce_next(std::unique_lock<std::mutex>& lock);
  void gather_next();
  /// Waits until all ended steps are reduced and committed. Takes mutex_ itself.
  Status settle() const;

  Device& device_;
  LateStreams streams_;  ///< of a device
  const std::uint32_t staleness_;
  mutable std::atomic<bool> told_{false};  ///< the job's failure, to the program
  std::mutex step_mutex_;                  ///< one at a time ends a step, or loads a state
  // Guarded by mutex_, which is taken after step_mutex_. changed_ is notified when step_, begun_, reduced_, failure_ or
  // closing_ change.
  mutable std::vector<Gradient> gradients_;       ///< by GradientId; done() hands over, too
  std::map<std::string, GradientState> waiting_;  ///< results that were loaded before their gradient was declared
  std::vector<StepResult> results_;               ///< of the step that is reduced, or that gets it: modulo their number
  std::uint64_t submit_calls_ = 0;
  std::uint32_t step_ = 0;     ///< the program's
  std::uint32_t begun_ = 0;    ///< steps whose reductions have begun
  std::uint32_t reduced_ = 0;  ///< steps that are reduced and committed
  Status failure_;             ///< of the thread
  bool closed_ = false, closing_ = false;

  std::unique_ptr<std::thread> thread_;  ///< since the first step()
  // The thread's own.
  std::vector<Submission> starts_;  ///< of one step; keeps its memory, as does:
  std::vector<Handle> started_;
};

}  // namespace casync::runtime
