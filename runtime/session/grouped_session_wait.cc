// SPDX-License-Identifier: Apache-2.0
//
// Waits for the results of groups and of their members.
#include <algorithm>

#include "base/log.h"
#include "runtime/session/grouped_session.h"
#include "runtime/session/handles.h"

namespace casync::runtime {
namespace {

// Interval at which a wait for a group that has not started asks whether the job has failed.
constexpr std::chrono::milliseconds kLook{100};

// Interval at which such a wait is logged, unless a tenth of the session's time limit is shorter.
constexpr Seconds kStall{30};

}  // namespace

Result<const GroupedSession::Gradient*> GroupedSession::gradient_of(Handle handle) const {
  const std::uint32_t index = index_of(handle);
  if (index < gradients_.size()) {
    const Gradient& gradient = gradients_[index];
    if (gradient.group == nullptr || gradient.group->knows(gradient.place, step_of(handle))) return &gradient;
  }
  return invalid_argument("a handle that no submission gave");
}

Handle GroupedSession::inner_handle(const Gradient& gradient, Handle handle) const {
  return handle_of(step_of(handle), gradient.own ? *gradient.own : *gradient.group->id());
}

/// Hands over the member's result if it is there; true if it has it.
Result<bool> GroupedSession::hands_over(const Gradient& gradient, Handle handle) const {
  SentGroup& group = *gradient.group;
  const std::uint32_t step = step_of(handle);
  if (!group.is_handed_over(gradient.place, step)) {
    if (!group.id() || !group.is_whole(step) || !session_->done(inner_handle(gradient, handle))) return false;
    CASYNC_RETURN_IF_ERROR(group.hand_over(gradient.place));
  }
  return group.has_result(gradient.place, step);
}

Status GroupedSession::wait_until_whole(const Gradient& gradient, Handle handle, double timeout_s) {
  const bool own = timeout_s >= 0 && timeout_s < timeout_s_;
  const Clock::time_point deadline = after(Seconds(own ? timeout_s : timeout_s_));
  SentGroup& group = *gradient.group;
  const auto may_go_on = [&] {
    return group.is_handed_over(gradient.place, step_of(handle)) || (group.id() && group.is_whole(step_of(handle)));
  };
  Clock::time_point warned = Clock::now();
  const Seconds stall = std::min(kStall, Seconds(timeout_s_ / 10));
  std::unique_lock lock(lock_.mutex);
  while (!lock_.changed->wait_until(lock, std::min(deadline, after(kLook)), may_go_on)) {
    if (closed_) return aborted("the session was closed");
    if (has_ended_ && step_ == step_of(handle)) return check_whole(kHowToGoOn);
    const std::string late = "gradient " + group.spec_of(gradient.place).name + ", step " +
                             std::to_string(step_of(handle)) + ": group " + group.name() + " has not left without " +
                             group.missing(step_of(handle));
    lock.unlock();
    CASYNC_RETURN_IF_ERROR(session_->submit({}, {}));
    if (Clock::now() - warned > stall) {
      warned = Clock::now();
      log().warn("rank {}: {}", rank(), late);
    }
    if (Clock::now() >= deadline) {
      if (!own) session_->abort(late);
      return timeout_error(late);
    }
    lock.lock();
  }
  return Status::ok();
}

Status GroupedSession::wait(Handle handle, double timeout_s, Waiter waiter) {
  if (forked()) return session_->wait(handle, timeout_s, waiter);
  const bool recorded = record_ && waiter == Waiter::kProgram;
  if (recorded) {
    std::lock_guard lock(lock_.mutex);
    if (const Result<const Gradient*> known = gradient_of(handle); !known) return known.status();
    record_->waits(index_of(handle));
  }
  const Status status = wait_for(handle, timeout_s, waiter);
  if (recorded) {
    std::lock_guard lock(lock_.mutex);
    record_->goes_on();
  }
  return status;
}

Status GroupedSession::wait_for(Handle handle, double timeout_s, Waiter waiter) {
  const Clock::time_point deadline = after(Seconds(timeout_s < 0 ? timeout_s_ : std::min(timeout_s, timeout_s_)));
  Gradient gradient;
  {
    std::lock_guard lock(lock_.mutex);
    const Result<const Gradient*> known = gradient_of(handle);
    if (!known) return known.status();
    gradient = **known;
  }
  if (gradient.own) return session_->wait(inner_handle(gradient, handle), timeout_s, waiter);
  CASYNC_RETURN_IF_ERROR(wait_until_whole(gradient, handle, timeout_s));
  Handle whole{};
  {
    std::unique_lock lock(lock_.mutex);
    if (gradient.group->is_handed_over(gradient.place, step_of(handle))) return take_result(handle, deadline, lock);
    whole = inner_handle(gradient, handle);
  }
  const double left = timeout_s < 0 ? timeout_s : std::max(0.0, Seconds(deadline - Clock::now()).count());
  CASYNC_RETURN_IF_ERROR(session_->wait(whole, left, waiter));
  std::unique_lock lock(lock_.mutex);
  return take_result(handle, deadline, lock);
}

/// Hands over a result that is there, and returns once it is in the member's memory. `lock` is the session's.
Status GroupedSession::take_result(Handle handle, Clock::time_point deadline, std::unique_lock<std::mutex>& lock) {
  const Gradient gradient = gradients_[index_of(handle)];
  SentGroup& group = *gradient.group;
  // Or step() has, meanwhile, and what is there now is the next step's.
  if (!group.is_handed_over(gradient.place, step_of(handle))) {
    if (Status status = group.hand_over(gradient.place); !status) return end_with(status);
  }
  while (true) {
    const Result<bool> there = group.has_result(gradient.place, step_of(handle));
    if (!there) return end_with(there.status());
    if (*there) return Status::ok();
    if (Clock::now() >= deadline) {
      return timeout_error("gradient " + group.spec_of(gradient.place).name + ", step " +
                           std::to_string(step_of(handle)) + ": its result is on its way to its memory");
    }
    SessionLock::pause(lock);
  }
}

bool GroupedSession::done(Handle handle) const {
  if (forked()) return false;
  std::lock_guard lock(lock_.mutex);
  const Result<const Gradient*> gradient = gradient_of(handle);
  if (!gradient) return false;
  const Result<bool> there =
      (*gradient)->own ? session_->done(inner_handle(**gradient, handle)) : hands_over(**gradient, handle);
  const bool is_done = there && *there;
  if (is_done && record_) record_->needs(index_of(handle));
  return is_done;
}

Status GroupedSession::wait_any(std::span<const Handle> handles, const std::atomic<bool>& interrupted,
                                std::vector<Handle>* done) {
  done->clear();
  if (forked()) return session_->wait_any(handles, interrupted, done);
  thread_local std::vector<Handle> waiting, wholes, ended;  // keep their memory: this runs in every step
  waiting.clear();
  wholes.clear();
  bool copies = false;
  {
    std::unique_lock lock(lock_.mutex);
    for (const Handle handle : handles) {
      const Result<const Gradient*> gradient = gradient_of(handle);
      if (!gradient) return gradient.status();
      const Gradient& own = **gradient;
      const Result<bool> there = own.group != nullptr ? hands_over(own, handle) : false;
      if (!there) return end_with(there.status());
      if (*there) {
        done->push_back(handle);
      } else if (own.group != nullptr && own.group->is_handed_over(own.place, step_of(handle))) {
        copies = true;
      } else if (own.group == nullptr || (own.group->id() && own.group->is_whole(step_of(handle)))) {
        waiting.push_back(handle);
        wholes.push_back(inner_handle(own, handle));
      }
    }
    if (!done->empty()) return Status::ok();
    if (closed_) return aborted("the session was closed");
    if (copies) {  // the caller looks again
      SessionLock::pause(lock);
      return Status::ok();
    }
    if (wholes.empty()) {  // the caller looks again when a group has started
      lock_.changed->wait_until(lock, after(kLook), [&] { return interrupted.load(); });
      lock.unlock();
      return session_->submit({}, {});
    }
  }
  const Status status = session_->wait_any(wholes, interrupted, &ended);
  std::lock_guard lock(lock_.mutex);
  Status failed;
  for_each_ended(wholes, ended, [&](std::size_t i) {
    const Gradient& gradient = gradients_[index_of(waiting[i])];
    Result<bool> there = true;
    if (gradient.group != nullptr) {
      const bool begun = gradient.group->is_handed_over(gradient.place, step_of(waiting[i]));
      if (!begun && failed.is_ok()) failed = gradient.group->hand_over(gradient.place);
      there = gradient.group->has_result(gradient.place, step_of(waiting[i]));
    }
    if (there && *there) done->push_back(waiting[i]);
  });
  return failed.is_ok() ? status : end_with(failed);
}

Status GroupedSession::note_exposed(Handle handle, double seconds) {
  if (forked()) return session_->note_exposed(handle, seconds);
  Handle inner{};
  {
    std::lock_guard lock(lock_.mutex);
    const Result<const Gradient*> gradient = gradient_of(handle);
    if (!gradient) return gradient.status();
    const SentGroup* const group = (*gradient)->group;
    if (group != nullptr && !(group->id() && group->is_whole(step_of(handle)))) return Status::ok();
    inner = inner_handle(**gradient, handle);
  }
  return session_->note_exposed(inner, seconds);
}

}  // namespace casync::runtime
