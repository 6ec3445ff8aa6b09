// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/delayed_session.h"

#include <utility>

#include "runtime/session/handles.h"
#include "runtime/session/late_states.h"
#include "runtime/session/session_device.h"

namespace casync::runtime {

Result<std::unique_ptr<Session>> DelayedSession::wrap(std::unique_ptr<Session> session, Device& device,
                                                      std::uint32_t staleness, double timeout_s) {
  std::unique_ptr<DelayedSession> made(new DelayedSession(std::move(session), device, staleness, timeout_s));
  CASYNC_RETURN_IF_ERROR(made->gradients_.open());
  return std::unique_ptr<Session>(std::move(made));
}

DelayedSession::DelayedSession(std::unique_ptr<Session> session, Device& device, std::uint32_t staleness,
                               double timeout_s)
    : WrappingSession(std::move(session)),
      steps_(staleness),
      gradients_(device, staleness),
      loaded_(staleness),
      waits_(*session_, lock_, steps_, gradients_, failure_, Seconds(timeout_s)) {}

DelayedSession::~DelayedSession() {
  if (!forked()) {
    static_cast<void>(close());
    if (holds_memory()) gradients_.leave_to_threads();
    return;
  }
  // The thread does not exist here, and whoever it waited for would be waited for in turn.
  reductions_.leave_to_threads();
  lock_.leave_to_threads();
  gradients_.leave_to_threads();
}

Result<GradientId> DelayedSession::declare(const GradientSpec& gradient) {
  Result<GradientId> id = session_->declare(gradient);
  if (!id) return id;
  std::lock_guard lock(lock_.mutex);
  if (gradients_.has(*id)) return id;
  const Result<LateGradient*> added = gradients_.add(*id, gradient);
  if (!added) return failure_.end_with(added.status());
  CASYNC_RETURN_IF_ERROR(loaded_.give(**added));
  return id;
}

Status DelayedSession::submit(std::span<const Submission> submissions, std::span<Handle> handles) {
  CASYNC_RETURN_IF_ERROR(failure_.tell(session_->submit({}, {})));  // usable, and the ranks have compared what is new
  if (handles.size() < submissions.size()) {
    return invalid_argument("room for " + std::to_string(handles.size()) + " handles, expected " +
                            std::to_string(submissions.size()));
  }
  std::lock_guard lock(lock_.mutex);
  if (Status refused = gradients_.check(submissions, steps_.number()); !refused) {
    return has_failed_device(refused) ? failure_.end_with(refused) : refused;
  }
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    LateGradient& gradient = gradients_.at(submissions[i].gradient);
    Status status = gradient.take(submissions[i], steps_.number());
    if (!gradient.loaded_is_finite()) steps_.note_not_finite(gradient.spec().name);
    if (gradient.due() > 0) steps_.gets(gradient.due() - 1, gradient.spec().name);
    if (status.is_ok() && steps_.has_reduced(gradient.due())) status = gradient.hand_over();
    if (!status) return failure_.end_with(status);
    handles[i] = handle_of(steps_.number(), submissions[i].gradient);
  }
  return Status::ok();
}

Status DelayedSession::wait(Handle handle, double timeout_s, Waiter waiter) {
  return forked() ? session_->wait(handle, timeout_s, waiter) : waits_.wait(handle, timeout_s, waiter);
}

Status DelayedSession::wait_any(std::span<const Handle> handles, Clock::time_point until,
                                const std::atomic<bool>& interrupted, std::vector<Handle>* done) {
  done->clear();
  if (forked()) return session_->wait_any(handles, until, interrupted, done);
  return waits_.wait_any(handles, until, interrupted, done);
}

Status DelayedSession::note_exposed(Handle handle, double seconds) {
  return forked() ? session_->note_exposed(handle, seconds) : waits_.note_exposed(handle, seconds);
}

Result<StepResult> DelayedSession::step() {
  if (forked()) return session_->step();
  std::lock_guard one_at_a_time(step_mutex_);
  std::unique_lock lock(lock_.mutex);
  if (!closed_) CASYNC_RETURN_IF_ERROR(reductions_.start());
  // The thread that reduces ends it: the wrapped session's time limit ends each of that thread's waits.
  lock_.changed->wait(lock, [&] { return steps_.may_end() || failure_.is_noted() || closed_; });
  if (!steps_.may_end() && failure_.is_noted()) return failure_.tell_noted();
  if (!closed_) CASYNC_RETURN_IF_ERROR(waits_.hand_over_all(lock));
  if (closed_) return aborted("the session was closed");  // also meanwhile: no thread would reduce the step
  StepResult result = steps_.end();
  lock_.changed->notify_all();
  return result;
}

SessionStats DelayedSession::stats() const {
  if (forked()) return {};
  SessionStats stats = session_->stats();
  std::lock_guard lock(lock_.mutex);
  stats.steps = steps_.number();
  return stats;
}

Result<SessionState> DelayedSession::state() const {
  if (forked()) return session_->state();
  std::unique_lock lock(lock_.mutex);
  CASYNC_RETURN_IF_ERROR(reductions_.settle(lock));
  if (gradients_.under_way(steps_.number()) > 0) {
    return invalid_argument("a step is under way: end it, then take the state");
  }
  Result<SessionState> state = session_->state();
  if (!state) return state;
  CASYNC_RETURN_IF_ERROR(gradients_.save(*state));
  loaded_.save(*state);
  return state;
}

Status DelayedSession::load_state(const SessionState& state) {
  if (forked()) return session_->load_state(state);
  std::lock_guard one_at_a_time(step_mutex_);
  std::unique_lock lock(lock_.mutex);
  CASYNC_RETURN_IF_ERROR(reductions_.settle(lock));
  if (gradients_.under_way(steps_.number()) > 0) {
    return invalid_argument("a step is under way: end it, then load a state");
  }
  CASYNC_RETURN_IF_ERROR(loaded_.check(state, gradients_));
  CASYNC_RETURN_IF_ERROR(session_->load_state(without_late(state)));
  steps_.go_to(state.step);
  loaded_.load(state);
  CASYNC_RETURN_IF_ERROR(gradients_.forget());
  return gradients_.for_each([&](GradientId, LateGradient& gradient) { return loaded_.give(gradient); });
}

void DelayedSession::abort(const std::string& reason) { failure_.abort(reason); }

Status DelayedSession::close() {
  if (forked()) return session_->close();
  return close_.run([this] { return leave(); });
}

/// Under close_.
Status DelayedSession::leave() {
  {
    std::lock_guard lock(lock_.mutex);
    closed_ = true;
    reductions_.close();
  }
  reductions_.join();  // the others wait for this rank's part: it reduces what has ended
  std::lock_guard one_at_a_time(step_mutex_);
  Status closed = session_->close();
  std::unique_lock lock(lock_.mutex);
  waits_.wait_for_copies(lock);  // of the last submissions
  if (failure_.is_told()) return closed;
  if (failure_.is_noted()) return failure_.noted();
  const std::size_t under_way = gradients_.under_way(steps_.number());
  if (under_way == 0) return closed;
  return aborted("the session was closed while " + std::to_string(under_way) + " gradients were under way");
}

}  // namespace casync::runtime
