// SPDX-License-Identifier: Apache-2.0
//
// Waiting for results that come late, and handing them over.
#include <algorithm>

#include "runtime/session/delayed_session.h"
#include "runtime/session/handles.h"

namespace casync::runtime {

bool DelayedSession::Gradient::is_handed_over(Handle handle) const {
  return handed_over || steps > step_of(handle) + 1;
}

Result<bool> DelayedSession::Gradient::has_result(Handle handle) const {
  if (steps > step_of(handle) + 1) return true;
  return handed_over ? memory->is_exchanged() : false;
}

Result<DelayedSession::Gradient*> DelayedSession::gradient_of(Handle handle) const {
  const std::uint32_t index = index_of(handle);
  if (index < gradients_.size() && gradients_[index].steps > step_of(handle)) return &gradients_[index];
  return invalid_argument("a handle that no submission gave");
}

/// The result into the program's memory, and its new gradient out of it.
Status DelayedSession::hand_over(Gradient& gradient) const {
  if (gradient.handed_over) return Status::ok();
  CASYNC_RETURN_IF_ERROR(gradient.memory->exchange(gradient.slot_index()));
  Slot& slot = gradient.slot();
  slot.steps = gradient.steps;
  slot.reduction.reset();
  gradient.handed_over = true;
  return Status::ok();
}

/// Hands over a result that is reduced, and returns once it is in the program's memory. `lock` is of mutex_.
Status DelayedSession::take_result(Handle handle, Clock::time_point deadline, std::unique_lock<std::mutex>& lock) {
  // Or step() has, meanwhile, and what is there now is the next step's.
  if (Gradient& own = gradients_[index_of(handle)]; !own.is_handed_over(handle)) {
    if (Status status = hand_over(own); !status) return end_with(status);
  }
  while (true) {
    const Gradient& own = gradients_[index_of(handle)];
    const Result<bool> there = own.has_result(handle);
    if (!there) return end_with(there.status());
    if (*there) return Status::ok();
    if (Clock::now() >= deadline) {
      return timeout_error("gradient " + own.spec.name + ", step " + std::to_string(step_of(handle)) +
                           ": its result is on its way to its memory");
    }
    pause(lock);
  }
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
      return own().is_handed_over(handle) || is_reduced(own().slot()) || own().slot().reduction || !failure_.is_ok();
    };
    const bool in_time = changed_->wait_until(lock, deadline, may_go_on);
    if (own().is_handed_over(handle) || is_reduced(own().slot())) return take_result(handle, deadline, lock);
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
  std::unique_lock lock(mutex_);
  return take_result(handle, deadline, lock);
}

bool DelayedSession::done(Handle handle) const {
  if (forked()) return false;
  std::lock_guard lock(mutex_);
  const Result<Gradient*> gradient = gradient_of(handle);
  if (!gradient) return false;
  Gradient& own = **gradient;
  if (!own.is_handed_over(handle)) {
    const Slot& slot = own.slot();
    const bool reduced = is_reduced(slot) || (slot.reduction && session_->done(*slot.reduction));
    if (!reduced || !hand_over(own)) return false;
  }
  const Result<bool> there = own.has_result(handle);
  return there && *there;
}

Status DelayedSession::wait_any(std::span<const Handle> handles, const std::atomic<bool>& interrupted,
                                std::vector<Handle>* done) {
  done->clear();
  if (forked()) return session_->wait_any(handles, interrupted, done);
  thread_local std::vector<Handle> waiting, reductions, reduced;  // keep their memory: this runs in every step
  waiting.clear();
  reductions.clear();
  bool copies = false;
  {
    std::unique_lock lock(mutex_);
    for (const Handle handle : handles) {
      const Result<Gradient*> gradient = gradient_of(handle);
      if (!gradient) return gradient.status();
      Gradient& own = **gradient;
      if (!own.is_handed_over(handle) && is_reduced(own.slot())) {
        if (Status status = hand_over(own); !status) return end_with(status);
      }
      const Result<bool> there = own.has_result(handle);
      if (!there) return end_with(there.status());
      if (*there) {
        done->push_back(handle);
      } else if (own.is_handed_over(handle)) {
        copies = true;
      } else if (own.slot().reduction) {
        waiting.push_back(handle);
        reductions.push_back(*own.slot().reduction);
      }
    }
    if (!done->empty()) return Status::ok();
    if (!failure_.is_ok()) return tell(failure_);
    if (copies) {  // the caller looks again
      pause(lock);
      return Status::ok();
    }
    if (reductions.empty()) {  // the caller looks again when one has begun
      const std::uint32_t begun = begun_, are_reduced = reduced_;
      changed_->wait(
          lock, [&] { return interrupted.load() || begun_ != begun || reduced_ != are_reduced || !failure_.is_ok(); });
      return failure_.is_ok() ? Status::ok() : tell(failure_);
    }
  }
  const Status status = session_->wait_any(reductions, interrupted, &reduced);
  std::lock_guard lock(mutex_);
  Status failed;
  for_each_ended(reductions, reduced, [&](std::size_t i) {
    // step() may have handed it over meanwhile, and the memory is the next step's.
    Gradient& gradient = gradients_[index_of(waiting[i])];
    if (!gradient.is_handed_over(waiting[i]) && failed.is_ok()) failed = hand_over(gradient);
    const Result<bool> there = gradient.has_result(waiting[i]);
    if (there && *there) done->push_back(waiting[i]);
  });
  return failed.is_ok() ? tell(status) : end_with(failed);
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

}  // namespace casync::runtime
