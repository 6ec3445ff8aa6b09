// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/session/late_failure.h"
#include "runtime/session/late_gradients.h"
#include "runtime/session/late_reductions.h"
#include "runtime/session/late_steps.h"
#include "runtime/session/late_waits.h"
#include "runtime/session/loaded_results.h"
#include "runtime/session/single_close.h"
#include "runtime/session/wrapping_session.h"

namespace casync::runtime {

/// A session whose results come a fixed number of steps late (`staleness` in a plan): what a step submits is reduced
/// while the next ones compute, and its memory gets the result of the gradient's submission so many steps earlier; in
/// the first steps, zeros. The same on every rank, so replicas stay identical.
///
/// It wraps an ordinary session. A thread takes that session through the program's steps, one after the other, each
/// with its commit, so residuals are those of a session without staleness. step() hands over what has been reduced, and
/// waits only if the program would be more steps ahead of the reductions than `staleness`. Each gradient has that many
/// memories of its own (LateMemory). A state contains them (runtime/session/late_states.h). docs/threads.md lists the
/// parts that carry out its calls.
///
/// On a device a result is handed over by copies in a stream, behind what the program's stream writes. The submission
/// is done once they are over, and step() waits for those of its gradients, without a call of the device that waits.
class DelayedSession final : public WrappingSession {
 public:
  /// `staleness`: at least 1. `device`, `timeout_s`: the wrapped session's. Unavailable: as Device::make_stream().
  static Result<std::unique_ptr<Session>> wrap(std::unique_ptr<Session> session, Device& device,
                                               std::uint32_t staleness, double timeout_s);
  ~DelayedSession() override;

  Status begin_consensus() override { return session_->begin_consensus(); }
  void end_submissions() override { session_->end_submissions(); }
  Result<GradientId> declare(const GradientSpec& gradient) override;
  Status submit(std::span<const Submission> submissions, std::span<Handle> handles) override;
  Status wait(Handle handle, double timeout_s, Waiter waiter) override;
  bool done(Handle handle) const override { return !forked() && waits_.done(handle); }
  Status wait_any(std::span<const Handle> handles, Clock::time_point until, const std::atomic<bool>& interrupted,
                  std::vector<Handle>* done) override;
  Status note_exposed(Handle handle, double seconds) override;
  Result<StepResult> step() override;
  SessionStats stats() const override;
  Result<SessionState> state() const override;
  Status load_state(const SessionState& state) override;
  void abort(const std::string& reason) override;
  Status close() override;

 private:
  DelayedSession(std::unique_ptr<Session> session, Device& device, std::uint32_t staleness, double timeout_s);
  Status leave();

  std::mutex step_mutex_;  ///< one at a time ends a step, or loads a state; taken ahead of lock_
  bool closed_ = false;    ///< under lock_
  LateSteps steps_;
  LateGradients gradients_;
  LoadedResults loaded_;
  LateFailure failure_{*session_};
  LateReductions reductions_{*session_, lock_, steps_, gradients_, failure_};
  LateWaits waits_;
  SingleClose close_;
};

}  // namespace casync::runtime
