// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/delayed_session.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/thread.h"
#include "runtime/session/declarations.h"
#include "runtime/session/handles.h"

namespace casync::runtime {
namespace {

void swap_bytes(std::byte* a, std::byte* b, std::size_t size) {
  std::array<std::byte, 8192> block;
  for (std::size_t at = 0; at < size; at += block.size()) {
    const std::size_t count = std::min(block.size(), size - at);
    std::memcpy(block.data(), a + at, count);
    std::memcpy(a + at, b + at, count);
    std::memcpy(b + at, block.data(), count);
  }
}

}  // namespace

DelayedSession::~DelayedSession() {
  if (!forked()) {
    static_cast<void>(close());
    return;
  }
  // The thread does not exist here, and whoever it waited for would be waited for in turn.
  static_cast<void>(thread_.release());
  static_cast<void>(changed_.release());
}

Result<GradientId> DelayedSession::declare(const GradientSpec& gradient) {
  Result<GradientId> id = session_->declare(gradient);
  if (!id) return id;
  std::lock_guard lock(mutex_);
  const auto index = static_cast<std::size_t>(*id);
  if (index < gradients_.size()) return id;
  gradients_.resize(index + 1);
  Gradient& own = gradients_[index];
  own.spec = gradient;
  own.slots.resize(staleness_);
  for (Slot& slot : own.slots) slot.memory.resize(gradient.bytes());
  CASYNC_RETURN_IF_ERROR(take_late(own));
  return id;
}

Status DelayedSession::check(std::span<const Submission> submissions) {
  ++submit_calls_;
  for (const Submission& one : submissions) {
    const auto index = static_cast<std::size_t>(one.gradient);
    if (index >= gradients_.size()) return invalid_argument("no gradient has the id " + std::to_string(index));
    Gradient& gradient = gradients_[index];
    CASYNC_RETURN_IF_ERROR(check_memory(gradient.spec, one.data));
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
  CASYNC_RETURN_IF_ERROR(check(submissions));
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    Gradient& gradient = gradients_[static_cast<std::size_t>(submissions[i].gradient)];
    gradient.destination = submissions[i].data;
    gradient.steps = step_ + 1;
    ++gradient.submissions;
    gradient.handed_over = false;
    if (is_reduced(gradient.slot())) hand_over(gradient);
    handles[i] = handle_of(step_, submissions[i].gradient);
  }
  return Status::ok();
}

bool DelayedSession::Gradient::has_result(Handle handle) const { return handed_over || steps > step_of(handle) + 1; }

Result<DelayedSession::Gradient*> DelayedSession::gradient_of(Handle handle) const {
  const std::uint32_t index = index_of(handle);
  if (index < gradients_.size() && gradients_[index].steps > step_of(handle)) return &gradients_[index];
  return invalid_argument("a handle that no submission gave");
}

/// The result into the program's memory, and its new gradient out of it.
void DelayedSession::hand_over(Gradient& gradient) const {
  if (gradient.handed_over) return;
  Slot& slot = gradient.slot();
  swap_bytes(slot.memory.data(), gradient.destination.data, slot.memory.size());
  slot.steps = gradient.steps;
  slot.reduction.reset();
  gradient.handed_over = true;
}

Status DelayedSession::wait(Handle handle, double timeout_s, Waiter waiter) {
  if (forked()) return session_->wait(handle, timeout_s, waiter);
  constexpr double kLongest = 1e8;  // seconds; reductions have the session's own limit
  const Clock::time_point deadline = after(Seconds(timeout_s < 0 ? kLongest : std::min(timeout_s, kLongest)));
  std::optional<Handle> reduction;
  {
    std::unique_lock lock(mutex_);
    if (const Status known = gradient_of(handle).status(); !known) return known;
    const auto own = [&]() -> Gradient& { return gradients_[index_of(handle)]; };
    const auto may_go_on = [&] {
      return own().has_result(handle) || is_reduced(own().slot()) || own().slot().reduction || !failure_.is_ok();
    };
    const bool in_time = changed_->wait_until(lock, deadline, may_go_on);
    if (own().has_result(handle)) return Status::ok();
    if (is_reduced(own().slot())) {
      hand_over(own());
      return Status::ok();
    }
    if (!failure_.is_ok()) return tell(failure_);
    if (!in_time) {
      return timeout_error("gradient " + own().spec.name + ", step " + std::to_string(step_of(handle)) +
                           ": the step whose result it gets is not reduced yet, step " + std::to_string(reduced_) +
                           " comes before it");
    }
    reduction = own().slot().reduction;
  }
  const double left = timeout_s < 0 ? timeout_s : std::max(0.0, Seconds(deadline - Clock::now()).count());
  if (Status status = session_->wait(*reduction, left, waiter); !status) {
    return status.code() == StatusCode::kTimeout ? status : tell(status);  // a wait may be tried again
  }
  std::lock_guard lock(mutex_);
  // Or step() has, meanwhile, and what is there now is the next step's.
  Gradient& gradient = gradients_[index_of(handle)];
  if (!gradient.has_result(handle)) hand_over(gradient);
  return Status::ok();
}

bool DelayedSession::done(Handle handle) const {
  if (forked()) return false;
  std::lock_guard lock(mutex_);
  const Result<Gradient*> gradient = gradient_of(handle);
  if (!gradient) return false;
  Gradient& own = **gradient;
  if (own.has_result(handle)) return true;
  const Slot& slot = own.slot();
  if (is_reduced(slot) || (slot.reduction && session_->done(*slot.reduction))) hand_over(own);
  return own.has_result(handle);
}

Status DelayedSession::wait_any(std::span<const Handle> handles, const std::atomic<bool>& interrupted,
                                std::vector<Handle>* done) {
  done->clear();
  if (forked()) return session_->wait_any(handles, interrupted, done);
  thread_local std::vector<Handle> waiting, reductions, reduced;  // keep their memory: this runs in every step
  waiting.clear();
  reductions.clear();
  {
    std::unique_lock lock(mutex_);
    for (const Handle handle : handles) {
      const Result<Gradient*> gradient = gradient_of(handle);
      if (!gradient) return gradient.status();
      Gradient& own = **gradient;
      if (!own.has_result(handle) && is_reduced(own.slot())) hand_over(own);
      if (own.has_result(handle)) {
        done->push_back(handle);
      } else if (own.slot().reduction) {
        waiting.push_back(handle);
        reductions.push_back(*own.slot().reduction);
      }
    }
    if (!done->empty()) return Status::ok();
    if (!failure_.is_ok()) return tell(failure_);
    if (reductions.empty()) {  // the caller looks again when one has begun
      const std::uint32_t begun = begun_, are_reduced = reduced_;
      changed_->wait(
          lock, [&] { return interrupted.load() || begun_ != begun || reduced_ != are_reduced || !failure_.is_ok(); });
      return failure_.is_ok() ? Status::ok() : tell(failure_);
    }
  }
  const Status status = session_->wait_any(reductions, interrupted, &reduced);
  std::lock_guard lock(mutex_);
  for_each_ended(reductions, reduced, [&](std::size_t i) {
    // step() may have handed it over meanwhile, and the memory is the next step's.
    Gradient& gradient = gradients_[index_of(waiting[i])];
    if (!gradient.has_result(waiting[i])) hand_over(gradient);
    done->push_back(waiting[i]);
  });
  return tell(status);
}

Status DelayedSession::note_exposed(Handle handle, double seconds) {
  if (forked()) return session_->note_exposed(handle, seconds);
  std::optional<Handle> reduction;
  {
    std::lock_guard lock(mutex_);
    const Result<Gradient*> gradient = gradient_of(handle);
    if (!gradient) return gradient.status();
    reduction = (*gradient)->slot().reduction;
  }
  return reduction ? session_->note_exposed(*reduction, seconds) : Status::ok();
}

/// Keeps that the program knows of a failure.
Status DelayedSession::tell(Status status) const {
  if (!status) told_ = true;
  return status;
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
  StepResult result = std::exchange(results_[step_ % staleness_], {});
  result.step = step_;
  for (Gradient& gradient : gradients_) hand_over(gradient);
  ++step_;
  changed_->notify_all();
  return result;
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
    for (Slot& slot : gradients_[i].slots) {
      if (slot.steps != begun_ + 1) continue;
      starts_.push_back({GradientId(static_cast<std::uint32_t>(i)), {slot.memory.data(), slot.memory.size()}});
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
  std::lock_guard lock(mutex_);
  if (told_) return closed;
  if (!failure_.is_ok()) return failure_;
  if (under_way() == 0) return closed;
  return aborted("the session was closed while " + std::to_string(under_way()) + " gradients were under way");
}

}  // namespace casync::runtime
