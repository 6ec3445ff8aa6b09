// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/grouped_session.h"

#include <optional>
#include <utility>

#include "runtime/session/handles.h"
#include "runtime/session/session_device.h"

namespace casync::runtime {
namespace {

std::unique_ptr<RunRecord> record_of(const Session& session, const SyncMode& mode, const std::string& directory,
                                     const RecordedRanks& ranks, Device& device) {
  if (directory.empty()) return nullptr;
  if (session.rank() != 0) return record_of_pace(ranks, mode, device);
  return std::make_unique<RunRecord>(directory, ranks, mode, false, device);
}

}  // namespace

GroupedSession::GroupedSession(std::unique_ptr<Session> session, Device& device, const Plan& plan, double timeout_s,
                               const std::string& record_directory, const RecordedRanks& ranks,
                               std::shared_ptr<RankPaces> paces)
    : WrappingSession(std::move(session)),
      paces_(std::move(paces)),
      record_(record_of(*session_, plan.mode, record_directory, ranks, device)),
      step_(plan.mode),
      table_(*session_, device, plan.groups),
      waits_(*session_, lock_, step_, table_, record_.get(), timeout_s) {}

GroupedSession::~GroupedSession() {
  if (forked()) {
    lock_.leave_to_threads();
    table_.leave_to_threads();
    static_cast<void>(record_.release());  // with events of the parent's device
    return;
  }
  static_cast<void>(close());
  if (!holds_memory()) return;
  table_.leave_to_threads();
  static_cast<void>(record_.release());
}

Result<GradientId> GroupedSession::declare(const GradientSpec& gradient) {
  CASYNC_RETURN_IF_ERROR(session_->failure());  // a member may not come to the session, which would say it
  std::lock_guard lock(lock_.mutex);
  const Result<GroupedGradient> declared = table_.declare(gradient);
  if (!declared) return declared.status();
  if (const std::optional<GradientId> known = table_.find(gradient.name)) return *known;
  if (record_) CASYNC_RETURN_IF_ERROR(record_->declared(gradient));
  return table_.add(gradient.name, *declared);
}

/// Puts what leaves for the wrapped session with these into starts_.
Status GroupedSession::gather(std::span<const Submission> submissions) {
  starts_.clear();
  std::lock_guard lock(lock_.mutex);
  if (!submissions.empty()) CASYNC_RETURN_IF_ERROR(step_.check_exchange());
  if (Status refused = table_.check(submissions, step_.number()); !refused) {
    return has_failed_device(refused) ? end_with(*session_, refused) : refused;
  }
  if (record_) {
    record_->submitted(submissions);
    record_->stands_still();
  }
  const bool samples = record_ && record_->samples(step_.exchanged());
  for (Submission one : submissions) {
    if (samples) {
      if (Status sampled = record_->sample(one, step_.number()); !sampled) return end_with(*session_, sampled);
    }
    const Result<std::optional<Submission>> leaves = table_.take(one, step_.number());
    if (!leaves) return end_with(*session_, leaves.status());
    if (*leaves) starts_.push_back(**leaves);
  }
  if (record_) record_->goes_on();
  return Status::ok();
}

Status GroupedSession::submit(std::span<const Submission> submissions, std::span<Handle> handles) {
  if (forked()) return session_->submit(submissions, handles);
  if (handles.size() < submissions.size()) {
    return invalid_argument("room for " + std::to_string(handles.size()) + " handles, expected " +
                            std::to_string(submissions.size()));
  }
  std::lock_guard one_at_a_time(submit_mutex_);
  CASYNC_RETURN_IF_ERROR(gather(submissions));
  started_.resize(starts_.size());
  const Status sent = session_->submit(starts_, started_);  // also with none: it says if the job has failed
  std::lock_guard lock(lock_.mutex);
  if (!sent) {
    table_.take_back(submissions);
    return sent;
  }
  if (!submissions.empty()) step_.submits();
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    handles[i] = handle_of(step_.number(), submissions[i].gradient);
    table_.submitted(submissions[i].gradient, step_.number());
  }
  tell_waits();
  return Status::ok();
}

/// Something has left for the wrapped session. Under the lock.
void GroupedSession::tell_waits() {
  lock_.changed->notify_all();
  if (waits_.wake()) session_->nudge();
}

Status GroupedSession::start_open_groups() {
  starts_.clear();
  Status closed;
  {
    std::lock_guard lock(lock_.mutex);
    closed = table_.close_open(step_.number(), &starts_);
    if (!starts_.empty()) step_.submits();
  }
  if (starts_.empty()) return closed;
  started_.resize(starts_.size());
  CASYNC_RETURN_IF_ERROR(session_->submit(starts_, started_));
  std::lock_guard lock(lock_.mutex);
  table_.left(step_.number());
  tell_waits();
  return closed;
}

Status GroupedSession::wait(Handle handle, double timeout_s, Waiter waiter) {
  return forked() ? session_->wait(handle, timeout_s, waiter) : waits_.wait(handle, timeout_s, waiter);
}

Status GroupedSession::wait_any(std::span<const Handle> handles, Clock::time_point until,
                                const std::atomic<bool>& interrupted, std::vector<Handle>* done) {
  done->clear();
  if (forked()) return session_->wait_any(handles, until, interrupted, done);
  return waits_.wait_any(handles, until, interrupted, done);
}

Status GroupedSession::note_exposed(Handle handle, double seconds) {
  return forked() ? session_->note_exposed(handle, seconds) : waits_.note_exposed(handle, seconds);
}

Status GroupedSession::begin_consensus() {
  if (forked()) return session_->begin_consensus();
  std::lock_guard one_at_a_time(submit_mutex_);  // both sessions begin it in the same step
  {
    std::lock_guard lock(lock_.mutex);
    CASYNC_RETURN_IF_ERROR(table_.check_whole(step_.number(), ": the step has submissions"));
  }
  CASYNC_RETURN_IF_ERROR(session_->begin_consensus());
  std::lock_guard lock(lock_.mutex);
  step_.begin_consensus();
  return Status::ok();
}

void GroupedSession::end_submissions() {
  if (forked()) return;
  std::lock_guard one_at_a_time(submit_mutex_);
  Status started = start_open_groups();  // waits say it, and step() again
  session_->end_submissions();
  std::lock_guard lock(lock_.mutex);
  step_.end_submissions(std::move(started));
}

Result<StepResult> GroupedSession::step() {
  if (forked()) return session_->step();
  std::lock_guard one_at_a_time(submit_mutex_);
  if (record_) {
    std::lock_guard lock(lock_.mutex);
    record_->computed();
  }
  Status started = start_open_groups();
  {
    std::lock_guard lock(lock_.mutex);
    if (started) started = table_.check_whole(step_.number(), GroupTable::kHowToGoOn);
    if (!started) {
      step_.end_submissions(started);
      return started;
    }
  }
  Result<StepResult> result = session_->step();
  if (!result) return result;
  std::unique_lock lock(lock_.mutex);
  CASYNC_RETURN_IF_ERROR(waits_.hand_over_all(lock));
  if (Status named = table_.name_member(*result); !named) return end_with(*session_, named);
  if (record_) record_->step_ended();
  step_.end();
  lock_.changed->notify_all();
  return result;
}

Result<SessionState> GroupedSession::state() const {
  if (forked()) return session_->state();
  const bool goes_on = session_->failure().is_ok();
  std::lock_guard lock(lock_.mutex);
  if (goes_on) CASYNC_RETURN_IF_ERROR(table_.check_whole(step_.number(), ": end the step, then take the state"));
  Result<SessionState> state = session_->state();
  if (state) table_.split(*state);
  return state;
}

Status GroupedSession::load_state(const SessionState& state) {
  if (forked()) return session_->load_state(state);
  std::lock_guard one_at_a_time(submit_mutex_);
  std::unique_lock lock(lock_.mutex);
  CASYNC_RETURN_IF_ERROR(table_.check_whole(step_.number(), ": end the step, then load a state"));
  const Result<SessionState> whole = table_.join(state);
  if (!whole) return whole.status();
  CASYNC_RETURN_IF_ERROR(waits_.wait_for_copies(lock));  // the program's memory is its own once all is forgotten
  CASYNC_RETURN_IF_ERROR(session_->load_state(*whole));
  table_.forget();
  step_.go_to(state.step);
  return table_.close_in(state);
}

void GroupedSession::nudge() {
  if (!forked()) {
    std::lock_guard lock(lock_.mutex);
    static_cast<void>(waits_.wake());
  }
  WrappingSession::nudge();
}

void GroupedSession::abort(const std::string& reason) {
  session_->abort(reason);
  nudge();
}

Status GroupedSession::close() {
  if (forked()) return session_->close();
  return close_.run([this] { return leave(); });
}

/// Under close_.
Status GroupedSession::leave() {
  const bool goes_on = session_->failure().is_ok();  // else no group leaves any more, whole or not
  Status part, served;
  {
    std::lock_guard lock(lock_.mutex);
    waits_.close();
    if (goes_on) part = table_.check_whole(step_.number(), "");
    // The others wait for the groups of this rank, too.
    if (goes_on && step_.is_asynchronous()) served = table_.close_declared();
    if (record_) paces_->set_own(record_->pace());
    lock_.changed->notify_all();
  }
  Status closed = session_->close();
  if (record_) {
    std::lock_guard lock(lock_.mutex);
    record_->write(paces_->others());
  }
  if (!closed) return closed;
  return part ? served : aborted("the session was closed in " + part.message());
}

}  // namespace casync::runtime
