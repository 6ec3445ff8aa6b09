// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/delayed_session.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/thread.h"
#include "runtime/session/declarations.h"
#include "runtime/session/handles.h"
#include "runtime/session/session_device.h"

namespace casync::runtime {
namespace {

// A device that has not ended a copy by then is left to itself.
constexpr Seconds kLongestCopy{10};

}  // namespace

Result<std::unique_ptr<Session>> DelayedSession::wrap(std::unique_ptr<Session> session, Device& device,
                                                      std::uint32_t staleness) {
  std::unique_ptr<DelayedSession> made(new DelayedSession(std::move(session), device, staleness));
  if (device.is_host()) return std::unique_ptr<Session>(std::move(made));
  for (std::unique_ptr<Stream>* each : {&made->streams_.copies, &made->streams_.idle}) {
    Result<std::unique_ptr<Stream>> stream = device.make_stream(false);
    if (!stream) return stream.status();
    *each = std::move(*stream);
  }
  return std::unique_ptr<Session>(std::move(made));
}

DelayedSession::~DelayedSession() {
  if (!forked()) {
    static_cast<void>(close());
    return;
  }
  // The thread does not exist here, and whoever it waited for would be waited for in turn.
  static_cast<void>(thread_.release());
  static_cast<void>(changed_.release());
  for (Gradient& gradient : gradients_) static_cast<void>(gradient.memory.release());
  static_cast<void>(streams_.copies.release());
  static_cast<void>(streams_.idle.release());
}

Result<GradientId> DelayedSession::declare(const GradientSpec& gradient) {
  Result<GradientId> id = session_->declare(gradient);
  if (!id) return id;
  std::lock_guard lock(mutex_);
  const auto index = static_cast<std::size_t>(*id);
  if (index < gradients_.size()) return id;
  Result<std::unique_ptr<LateMemory>> memory = make_late_memory(device_, streams_, staleness_, gradient.bytes());
  if (!memory) return end_with(memory.status());
  gradients_.resize(index + 1);
  Gradient& own = gradients_[index];
  own.spec = gradient;
  own.slots.resize(staleness_);
  own.memory = std::move(*memory);
  CASYNC_RETURN_IF_ERROR(take_late(own));
  return id;
}

Status DelayedSession::check(std::span<const Submission> submissions) {
  ++submit_calls_;
  for (const Submission& one : submissions) {
    const auto index = static_cast<std::size_t>(one.gradient);
    if (index >= gradients_.size() || gradients_[index].memory == nullptr)
      return invalid_argument("no gradient has the id " + std::to_string(index));
    Gradient& gradient = gradients_[index];
    CASYNC_RETURN_IF_ERROR(check_memory(device_, gradient.spec, one));
    if (gradient.steps == step_ + 1) return submitted_twice(gradient.spec, step_);
    if (gradient.call == submit_calls_) {
      return invalid_argument("gradient " + gradient.spec.name + " is twice in one submission");
    }
    gradient.call = submit_calls_;
  }
  return Status::ok();
}

Status DelayedSession::submit(std::span<const Submission> submissions, std::span<Handle> handles) {
  CASYNC_RETURN_IF_ERROR(tell(session_->submit({}, {})));  // usable, and the ranks have compared what is new
  if (handles.size() < submissions.size()) {
    return invalid_argument("room for " + std::to_string(handles.size()) + " handles, expected " +
                            std::to_string(submissions.size()));
  }
  std::lock_guard lock(mutex_);
  if (Status refused = check(submissions); !refused) return has_failed_device(refused) ? end_with(refused) : refused;
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    Gradient& gradient = gradients_[static_cast<std::size_t>(submissions[i].gradient)];
    if (Status status = gradient.memory->take(submissions[i]); !status) return end_with(status);
    gradient.steps = step_ + 1;
    ++gradient.submissions;
    gradient.handed_over = false;
    if (is_reduced(gradient.slot())) {
      if (Status status = hand_over(gradient); !status) return end_with(status);
    }
    handles[i] = handle_of(step_, submissions[i].gradient);
  }
  return Status::ok();
}

/// Keeps that the program knows of a failure.
Status DelayedSession::tell(Status status) const {
  if (!status) told_ = true;
  return status;
}

/// Ends the job: the device has failed.
Status DelayedSession::end_with(const Status& status) {
  session_->abort(status.message());
  return tell(status);
}

Status DelayedSession::settle() const {
  std::unique_lock lock(mutex_);
  changed_->wait(lock, [&] { return reduced_ == step_ || !failure_.is_ok(); });
  return reduced_ == step_ ? Status::ok() : tell(failure_);
}

Result<StepResult> DelayedSession::step() {
  if (forked()) return session_->step();
  std::lock_guard one_at_a_time(step_mutex_);
  CASYNC_RETURN_IF_ERROR(start_reducing());
  std::unique_lock lock(mutex_);
  changed_->wait(lock, [&] { return may_end_step() || !failure_.is_ok(); });
  if (!may_end_step()) return tell(failure_);
  while (true) {
    const Result<bool> all = hand_over_all();  // those, too, that have been submitted during a pause
    if (!all) return end_with(all.status());
    if (*all) break;
    pause(lock);
  }
  StepResult result = std::exchange(results_[step_ % staleness_], {});
  result.step = step_;
  ++step_;
  changed_->notify_all();
  return result;
}

/// Returns true if all results are in the program's memory.
Result<bool> DelayedSession::hand_over_all() {
  for (Gradient& gradient : gradients_) CASYNC_RETURN_IF_ERROR(hand_over(gradient));
  for (const Gradient& gradient : gradients_) {
    if (gradient.memory == nullptr) continue;  // another thread declares it
    const Result<bool> there = gradient.memory->is_exchanged();
    if (!there || !*there) return there;
  }
  return true;
}

Status DelayedSession::start_reducing() {
  if (thread_) return Status::ok();
  Result<std::thread> thread = start_thread("casync-late", [this] { reduce_all(); });
  if (!thread) return thread.status();
  thread_ = std::make_unique<std::thread>(std::move(*thread));
  return Status::ok();
}

void DelayedSession::reduce_all() {
  std::unique_lock lock(mutex_);
  while (failure_.is_ok()) {
    changed_->wait(lock, [&] { return begun_ < step_ || closing_; });
    if (begun_ == step_) return;
    try {
      failure_ = reduce_next(lock);
    } catch (const std::exception& error) {
      failure_ = unavailable(std::string("a late reduction could not begin: ") + error.what());
      session_->abort(failure_.message());
    }
    changed_->notify_all();
  }
}

/// `lock` is held before and after, but not while the reductions go on.
Status DelayedSession::reduce_next(std::unique_lock<std::mutex>& lock) {
  gather_next();
  lock.unlock();
  const Status begun = session_->submit(starts_, started_);
  lock.lock();
  CASYNC_RETURN_IF_ERROR(begun);
  for (std::size_t i = 0; i < starts_.size(); ++i) {
    for (Slot& slot : gradients_[static_cast<std::size_t>(starts_[i].gradient)].slots) {
      if (slot.steps == begun_ + 1) slot.reduction = started_[i];
    }
  }
  ++begun_;
  changed_->notify_all();
  lock.unlock();
  Result<StepResult> result = session_->step();
  lock.lock();
  CASYNC_RETURN_IF_ERROR(result.status());
  results_[reduced_ % staleness_] = std::move(*result);
  ++reduced_;
  return Status::ok();
}

/// Gathers the submissions of the step that is reduced next. A gradient's memory stays where it is, whoever is
/// declared.
void DelayedSession::gather_next() {
  starts_.clear();
  for (std::size_t i = 0; i < gradients_.size(); ++i) {
    const Gradient& gradient = gradients_[i];
    for (std::size_t at = 0; at < gradient.slots.size(); ++at) {
      if (gradient.slots[at].steps != begun_ + 1) continue;
      starts_.push_back(gradient.memory->submission(GradientId(static_cast<std::uint32_t>(i)), at));
    }
  }
  started_.resize(starts_.size());
}

SessionStats DelayedSession::stats() const {
  if (forked()) return {};
  SessionStats stats = session_->stats();
  std::lock_guard lock(mutex_);
  stats.steps = step_;
  return stats;
}

std::ptrdiff_t DelayedSession::under_way() const {
  return std::count_if(gradients_.begin(), gradients_.end(),
                       [&](const Gradient& gradient) { return gradient.steps == step_ + 1; });
}

void DelayedSession::abort(const std::string& reason) {
  told_ = true;
  session_->abort(reason);
}

Status DelayedSession::close() {
  if (forked()) return session_->close();
  {
    std::lock_guard lock(mutex_);
    if (closed_) return Status::ok();
    closed_ = closing_ = true;
    changed_->notify_all();
  }
  std::lock_guard one_at_a_time(step_mutex_);
  if (thread_) thread_->join();  // the others wait for this rank's part: it reduces what has ended
  Status closed = session_->close();
  std::unique_lock lock(mutex_);
  // The last submissions may be copied still.
  const Clock::time_point deadline = after(kLongestCopy);
  for (const Gradient& gradient : gradients_) {
    while (gradient.memory != nullptr) {
      const Result<bool> there = gradient.memory->is_exchanged();
      if (!there || *there || Clock::now() >= deadline) break;
      pause(lock);
    }
  }
  if (told_) return closed;
  if (!failure_.is_ok()) return failure_;
  if (under_way() == 0) return closed;
  return aborted("the session was closed while " + std::to_string(under_way()) + " gradients were under way");
}

}  // namespace casync::runtime
