// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/late_waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "runtime/session/copy_waits.h"
#include "runtime/session/handles.h"
#include "runtime/session/wrapping_session.h"

namespace casync::runtime {

bool LateWaits::done(Handle handle) const {
  std::lock_guard lock(lock_.mutex);
  const Result<LateGradient*> gradient = gradients_.of(handle);
  if (!gradient) return false;
  LateGradient& own = **gradient;
  if (!own.is_handed_over(step_of(handle))) {
    const bool reduced = is_reduced(own) || (own.reduction() && session_.done(*own.reduction()));
    if (!reduced || !own.hand_over()) return false;
  }
  const Result<bool> there = own.has_result(step_of(handle));
  return there && *there;
}

Status LateWaits::wait(Handle handle, double timeout_s, Waiter waiter) {
  constexpr double kLongest = 1e8;  // seconds; reductions have the session's own limit
  const bool own_limit = timeout_s >= 0;
  const Clock::time_point deadline = after(Seconds(!own_limit ? kLongest : std::min(timeout_s, kLongest)));
  std::optional<Handle> reduction;
  {
    std::unique_lock lock(lock_.mutex);
    const Result<LateGradient*> gradient = gradients_.of(handle);
    if (!gradient) return gradient.status();
    const LateGradient& own = **gradient;
    const auto is_there = [&] {
      return !own.knows(step_of(handle)) || own.is_handed_over(step_of(handle)) || is_reduced(own);
    };
    const bool in_time =
        lock_.changed->wait_until(lock, deadline, [&] { return is_there() || own.reduction() || failure_.is_noted(); });
    if (is_there()) return take_result(handle, own_limit ? deadline : Clock::time_point::max(), lock);
    if (failure_.is_noted()) return failure_.tell_noted();
    if (!in_time) {
      return timeout_error("gradient " + own.spec().name + ", step " + std::to_string(step_of(handle)) +
                           ": the step whose result it gets is not reduced yet, step " +
                           std::to_string(steps_.reduced()) + " comes first");
    }
    reduction = own.reduction();
  }
  const double left = timeout_s < 0 ? timeout_s : std::max(0.0, Seconds(deadline - Clock::now()).count());
  const Status status = session_.wait(*reduction, left, waiter);
  std::unique_lock lock(lock_.mutex);
  if (!status && gradients_.of(handle)) {
    return status.code() == StatusCode::kTimeout ? status : failure_.tell(status);  // a wait may be tried again
  }
  return take_result(handle, own_limit ? deadline : Clock::time_point::max(), lock);
}

/// Hands over a result that is reduced, and returns once it is in the program's memory. A device that has not copied it
/// within the session's limit from then on ends the job. InvalidArgument: a state that was loaded meanwhile has
/// forgotten the handle. `lock` is held.
Status LateWaits::take_result(Handle handle, Clock::time_point deadline, std::unique_lock<std::mutex>& lock) {
  LateGradient& own = gradients_.at(GradientId(index_of(handle)));
  while (own.knows(step_of(handle))) {
    // Or step() has, meanwhile, and what is there now is the next step's.
    if (!own.is_handed_over(step_of(handle))) {
      if (Status status = own.hand_over(); !status) return failure_.end_with(status);
    }
    const Result<bool> there = own.has_result(step_of(handle));
    if (!there) return failure_.end_with(there.status());
    if (*there) return Status::ok();
    const Clock::time_point now = Clock::now();
    if (is_late(own, now)) return failure_.end_with(on_its_way(own.spec(), handle));
    if (now >= deadline) return on_its_way(own.spec(), handle);
    SessionLock::pause(lock);
  }
  return unknown(handle);
}

/// Under the session's lock.
Status LateWaits::look(std::span<const Handle> handles, Looked* looked, std::vector<Handle>* done) {
  looked->waiting.clear();
  looked->reductions.clear();
  looked->copies = false;
  for (const Handle handle : handles) {
    const Result<LateGradient*> gradient = gradients_.of(handle);
    if (!gradient) return gradient.status();
    LateGradient& own = **gradient;
    if (!own.is_handed_over(step_of(handle)) && is_reduced(own)) {
      if (Status status = own.hand_over(); !status) return failure_.end_with(status);
    }
    const Result<bool> there = own.has_result(step_of(handle));
    if (!there) return failure_.end_with(there.status());
    if (*there) {
      done->push_back(handle);
    } else if (own.is_handed_over(step_of(handle))) {
      if (is_late(own, Clock::now())) return failure_.end_with(on_its_way(own.spec(), handle));
      looked->copies = true;
    } else if (own.reduction()) {
      looked->waiting.push_back(handle);
      looked->reductions.push_back(*own.reduction());
    }
  }
  return Status::ok();
}

/// Waits until another step has begun or is reduced: the program's own doing, or that of the thread that reduces, whose
/// waits the wrapped session ends.
Status LateWaits::wait_for_news(Clock::time_point until, const std::atomic<bool>& interrupted,
                                std::unique_lock<std::mutex>& lock) {
  const std::uint32_t begun = steps_.begun(), reduced = steps_.reduced();
  lock_.changed->wait_until(lock, until, [&] {
    return interrupted.load() || steps_.begun() != begun || steps_.reduced() != reduced || failure_.is_noted();
  });
  return failure_.tell_noted();
}

Status LateWaits::wait_any(std::span<const Handle> handles, Clock::time_point until,
                           const std::atomic<bool>& interrupted, std::vector<Handle>* done) {
  thread_local Looked looked;  // keeps its memory, as does the next: this runs in every step
  thread_local std::vector<Handle> reduced;
  {
    std::unique_lock lock(lock_.mutex);
    CASYNC_RETURN_IF_ERROR(look(handles, &looked, done));
    if (!done->empty()) return Status::ok();
    if (failure_.is_noted()) return failure_.tell_noted();
    if (looked.copies) {  // the caller looks again
      SessionLock::pause(lock);
      return Status::ok();
    }
    if (looked.reductions.empty()) return wait_for_news(until, interrupted, lock);  // the caller looks again
  }
  const Status status = session_.wait_any(looked.reductions, until, interrupted, &reduced);
  std::lock_guard lock(lock_.mutex);
  Status failed;
  for_each_ended(looked.reductions, reduced, [&](std::size_t i) {
    // step() may have handed it over meanwhile, and the memory is the next step's.
    const std::uint32_t step = step_of(looked.waiting[i]);
    LateGradient& own = gradients_.at(GradientId(index_of(looked.waiting[i])));
    if (!own.is_handed_over(step) && failed.is_ok()) failed = own.hand_over();
    const Result<bool> there = own.has_result(step);
    if (there && *there) done->push_back(looked.waiting[i]);
  });
  return failed.is_ok() ? failure_.tell(status) : failure_.end_with(failed);
}

Status LateWaits::note_exposed(Handle handle, double seconds) {
  std::optional<Handle> reduction;
  {
    std::lock_guard lock(lock_.mutex);
    const Result<LateGradient*> gradient = gradients_.of(handle);
    if (!gradient) return gradient.status();
    reduction = (*gradient)->reduction();
  }
  return reduction ? session_.note_exposed(*reduction, seconds) : Status::ok();
}

Status LateWaits::hand_over_all(std::unique_lock<std::mutex>& lock) {
  const Clock::time_point deadline = after(limit_);
  while (true) {
    const Result<bool> all = gradients_.hand_over_all();
    if (!all) return failure_.end_with(all.status());
    if (*all) return Status::ok();
    if (Clock::now() >= deadline) {
      return failure_.end_with(timeout_error(
          fmt::format("the device has not copied late results to the gradients' memory within {} s", limit_.count())));
    }
    SessionLock::pause(lock);
  }
}

void LateWaits::wait_for_copies(std::unique_lock<std::mutex>& lock) {
  const Clock::time_point deadline = after(kLongestCopy);
  static_cast<void>(gradients_.for_each([&](GradientId, LateGradient& gradient) {
    while (true) {
      const Result<bool> there = gradient.is_exchanged();
      if (!there || *there || Clock::now() >= deadline) return Status::ok();
      SessionLock::pause(lock);
    }
  }));
}

}  // namespace casync::runtime
