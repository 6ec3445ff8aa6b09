// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/group_waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "base/log.h"
#include "runtime/session/handles.h"
#include "runtime/session/wrapping_session.h"

namespace casync::runtime {
namespace {

// Interval at which a wait for a group that has not started asks whether the job has failed.
constexpr std::chrono::milliseconds kLook{100};

// Interval at which such a wait is logged, unless a tenth of the session's time limit is shorter.
constexpr Seconds kStall{30};

const GradientSpec& spec_of(const GroupedGradient& member) { return member.group->members().spec_of(member.place); }

/// Timeout: the group of a handle has not left.
Status not_left(const GroupedGradient& gradient, Handle handle) {
  const SentGroup& group = *gradient.group;
  const std::string missing = group.missing(step_of(handle));
  return timeout_error(fmt::format("gradient {}, step {}: group {} has not left{}{}", spec_of(gradient).name,
                                   step_of(handle), group.members().name(), missing.empty() ? "" : " without ",
                                   missing));
}

}  // namespace

Seconds GroupWaits::log_interval() const { return std::min(kStall, Seconds(timeout_s_ / 10)); }

void GroupWaits::close() { closed_ = true; }

bool GroupWaits::wake() {
  for (std::atomic<bool>* const each : sleepers_) *each = true;
  return !sleepers_.empty();
}

GroupWaits::Sleeper::~Sleeper() {
  const std::lock_guard lock(waits_.lock_.mutex);
  std::erase(waits_.sleepers_, &looks_again_);
}

/// Hands over the member's result, which is there.
Status GroupWaits::hand_over(const GroupedGradient& gradient, Handle handle) const {
  return gradient.group->hand_over(gradient.place, session_.has_finite_result(gradient.inner(handle)));
}

/// Hands over the member's result if it is there; true if it has it.
Result<bool> GroupWaits::hands_over(const GroupedGradient& gradient, Handle handle) const {
  SentGroup& group = *gradient.group;
  const std::uint32_t step = step_of(handle);
  if (!group.is_handed_over(gradient.place, step)) {
    if (!gradient.has_left(step) || !session_.done(gradient.inner(handle))) return false;
    CASYNC_RETURN_IF_ERROR(hand_over(gradient, handle));
  }
  return group.has_result(gradient.place, step);
}

/// Notes that somebody waits for a group that has not left, and logs it now and then. Returns when that ends the job.
/// Under the lock.
Clock::time_point GroupWaits::note_delay(const GroupedGradient& gradient, Handle handle, Clock::time_point now) const {
  GroupDelay& delay = gradient.group->delay();
  const Clock::time_point since = delay.waited_since(step_of(handle), now);
  if (delay.is_to_be_said(now, log_interval())) {
    log().warn("rank {}: {}", session_.rank(), not_left(gradient, handle).message());
  }
  return since + limit();
}

/// Returns true if a group that has not left does not leave in `step`: nothing more is submitted there. Under the lock.
bool GroupWaits::does_not_leave(const SentGroup& group, std::uint32_t step) const {
  return step_.has_all_of(step) && !group.is_called();
}

/// The reason for that. Under the lock.
Status GroupWaits::no_more(const SentGroup& group, std::uint32_t step) const {
  const bool has_own_reason = !group.closed().is_ok();
  if (!has_own_reason && group.is_whole(step) && !step_.started().is_ok()) return step_.started();
  return group.incomplete(step, GroupTable::kHowToGoOn);
}

/// The groups of all these do not leave. Whoever hears that takes the members' memory back, so their submissions are
/// void. OK, if a device still reads some: the caller looks again. Under the lock.
Status GroupWaits::withdraw(std::span<const Handle> handles, const Status& why) const {
  for (const Handle handle : handles) {
    const GroupedGradient& gradient = table_.at(GradientId(index_of(handle)));
    const Result<bool> gathered = gradient.group->is_gathered(gradient.place);
    if (!gathered) return end_with(session_, gathered.status());
    if (!*gathered) return Status::ok();
  }
  for (const Handle handle : handles) {
    const GroupedGradient& gradient = table_.at(GradientId(index_of(handle)));
    gradient.group->withdraw(gradient.place, step_of(handle));
  }
  lock_.changed->notify_all();
  return why;
}

/// Waits until the group has left. Timeout; the failure of the job; InvalidArgument: it does not leave, as no_more()
/// says, or the submission is void.
Status GroupWaits::wait_until_whole(const GroupedGradient& gradient, Handle handle, double timeout_s) {
  const bool own = timeout_s >= 0 && timeout_s < timeout_s_;
  const std::uint32_t step = step_of(handle);
  const SentGroup& group = *gradient.group;
  const auto is_void = [&] { return !group.submissions().knows(gradient.place, step); };
  const auto may_go_on = [&] {
    return is_void() || group.is_handed_over(gradient.place, step) || gradient.has_left(step);
  };
  std::unique_lock lock(lock_.mutex);
  if (may_go_on()) return table_.of(handle).status();
  const Clock::time_point last = note_delay(gradient, handle, Clock::now());
  const Clock::time_point deadline = own ? std::min(last, after(Seconds(timeout_s))) : last;
  while (!lock_.changed->wait_until(lock, std::min(deadline, after(kLook)), may_go_on)) {
    if (closed_) return aborted("the session was closed");
    if (does_not_leave(group, step)) return no_more(group, step);
    static_cast<void>(note_delay(gradient, handle, Clock::now()));
    const Status late = not_left(gradient, handle);
    lock.unlock();
    CASYNC_RETURN_IF_ERROR(session_.submit({}, {}));
    const Clock::time_point now = Clock::now();
    if (now >= last) return end_with(session_, late);
    if (now >= deadline) return late;
    lock.lock();
  }
  return is_void() && does_not_leave(group, step) ? no_more(group, step) : table_.of(handle).status();
}

Status GroupWaits::wait(Handle handle, double timeout_s, Waiter waiter) {
  const bool recorded = record_ != nullptr && waiter == Waiter::kProgram;
  if (recorded) {
    std::lock_guard lock(lock_.mutex);
    if (const Result<const GroupedGradient*> known = table_.of(handle); !known) return known.status();
    record_->waits(index_of(handle));
  }
  const Status status = wait_for(handle, timeout_s, waiter);
  if (recorded) {
    std::lock_guard lock(lock_.mutex);
    record_->goes_on();
  }
  return status;
}

Status GroupWaits::wait_for(Handle handle, double timeout_s, Waiter waiter) {
  const bool own = timeout_s >= 0 && timeout_s < timeout_s_;
  const Clock::time_point deadline = after(Seconds(own ? timeout_s : timeout_s_));
  GroupedGradient gradient;
  {
    std::lock_guard lock(lock_.mutex);
    const Result<const GroupedGradient*> known = table_.of(handle);
    if (!known) return known.status();
    gradient = **known;
  }
  if (gradient.own) return session_.wait(gradient.inner(handle), timeout_s, waiter);
  CASYNC_RETURN_IF_ERROR(wait_until_whole(gradient, handle, timeout_s));
  Handle whole{};
  {
    std::unique_lock lock(lock_.mutex);
    if (gradient.group->is_handed_over(gradient.place, step_of(handle))) {
      return take_result(handle, own ? deadline : Clock::time_point::max(), lock);
    }
    whole = gradient.inner(handle);
  }
  const double left = timeout_s < 0 ? timeout_s : std::max(0.0, Seconds(deadline - Clock::now()).count());
  const Status status = session_.wait(whole, left, waiter);
  std::unique_lock lock(lock_.mutex);
  if (!status && table_.of(handle)) return status;
  return take_result(handle, own ? deadline : Clock::time_point::max(), lock);
}

/// Hands over a result that is there, and returns once it is in the member's memory. A device that has not copied it
/// within the session's limit from then on ends the job. InvalidArgument: a state that was loaded meanwhile has
/// forgotten the handle. `lock` is held.
Status GroupWaits::take_result(Handle handle, Clock::time_point deadline, std::unique_lock<std::mutex>& lock) {
  const GroupedGradient gradient = table_.at(GradientId(index_of(handle)));
  SentGroup& group = *gradient.group;
  while (table_.of(handle)) {
    // Or step() has, meanwhile, and what is there now is the next step's.
    if (!group.is_handed_over(gradient.place, step_of(handle))) {
      if (Status status = hand_over(gradient, handle); !status) return end_with(session_, status);
    }
    const Clock::time_point last = group.handed_over_at(gradient.place) + limit();
    const Result<bool> there = group.has_result(gradient.place, step_of(handle));
    if (!there) return end_with(session_, there.status());
    if (*there) return Status::ok();
    const Clock::time_point now = Clock::now();
    if (now >= last) return end_with(session_, on_its_way(spec_of(gradient), handle));
    if (now >= deadline) return on_its_way(spec_of(gradient), handle);
    SessionLock::pause(lock);
  }
  return unknown(handle);
}

bool GroupWaits::done(Handle handle) const {
  std::lock_guard lock(lock_.mutex);
  const Result<const GroupedGradient*> known = table_.of(handle);
  if (!known) return false;
  const GroupedGradient& gradient = **known;
  const Result<bool> there = gradient.own ? session_.done(gradient.inner(handle)) : hands_over(gradient, handle);
  const bool is_done = there && *there;
  if (is_done && record_ != nullptr) record_->needs(index_of(handle));
  return is_done;
}

/// Under the session's lock.
Status GroupWaits::look(std::span<const Handle> handles, Looked* looked, std::vector<Handle>* done) {
  looked->waiting.clear();
  looked->wholes.clear();
  looked->copies = looked->may_leave = false;
  looked->late = looked->no_more = Status::ok();
  looked->first_due = Clock::time_point::max();
  for (const Handle handle : handles) {
    const Result<const GroupedGradient*> known = table_.of(handle);
    if (!known) return known.status();
    const GroupedGradient& gradient = **known;
    const Result<bool> there = gradient.own ? false : hands_over(gradient, handle);
    if (!there) return end_with(session_, there.status());
    if (*there) {
      done->push_back(handle);
    } else if (!gradient.own && gradient.group->is_handed_over(gradient.place, step_of(handle))) {
      look_at_copy(gradient, handle, looked);
    } else if (gradient.has_left(step_of(handle))) {
      looked->waiting.push_back(handle);
      looked->wholes.push_back(gradient.inner(handle));
    } else {
      look_at_delay(gradient, handle, looked);
    }
  }
  return Status::ok();
}

/// The same for a handle whose result a device copies.
void GroupWaits::look_at_copy(const GroupedGradient& gradient, Handle handle, Looked* looked) const {
  looked->copies = true;
  const Clock::time_point last = gradient.group->handed_over_at(gradient.place) + limit();
  if (Clock::now() >= last && looked->late.is_ok()) looked->late = on_its_way(spec_of(gradient), handle);
}

/// The same for a handle whose group has not left.
void GroupWaits::look_at_delay(const GroupedGradient& gradient, Handle handle, Looked* looked) const {
  if (does_not_leave(*gradient.group, step_of(handle))) {
    if (looked->no_more.is_ok()) looked->no_more = no_more(*gradient.group, step_of(handle));
    return;
  }
  looked->may_leave = true;
  const Clock::time_point now = Clock::now(), last = note_delay(gradient, handle, now);
  looked->first_due = std::min({looked->first_due, last, gradient.group->delay().said_next(log_interval())});
  if (now >= last && looked->late.is_ok()) looked->late = not_left(gradient, handle);
}

/// Nothing that is waited for has left. Waits for a while until a group has, and the caller looks again; or says that
/// none does. `lock` is held.
Status GroupWaits::wait_for_news(std::span<const Handle> handles, const Looked& looked, Clock::time_point until,
                                 const std::atomic<bool>& interrupted, std::unique_lock<std::mutex>& lock) {
  if (!looked.no_more && !looked.may_leave) {
    const Status told = withdraw(handles, looked.no_more);
    if (told) SessionLock::pause(lock);
    return told;
  }
  lock_.changed->wait_until(lock, std::min(until, after(kLook)), [&] { return interrupted.load(); });
  lock.unlock();
  return session_.submit({}, {});
}

/// Looks at handles until a device copies no result of theirs, or some are done, or `until`: whoever hears that none is
/// done may load a state, which forgets them. `lock` is held.
Status GroupWaits::look_until_copied(std::span<const Handle> handles, Clock::time_point until,
                                     std::unique_lock<std::mutex>& lock, Looked* looked, std::vector<Handle>* done) {
  CASYNC_RETURN_IF_ERROR(look(handles, looked, done));
  while (looked->copies && done->empty() && looked->late.is_ok() && Clock::now() < until) {
    SessionLock::pause(lock);
    CASYNC_RETURN_IF_ERROR(look(handles, looked, done));
  }
  return Status::ok();
}

Status GroupWaits::wait_any(std::span<const Handle> handles, Clock::time_point until,
                            const std::atomic<bool>& interrupted, std::vector<Handle>* done) {
  thread_local Looked looked;  // keeps its memory, as does the next: this runs in every step
  thread_local std::vector<Handle> ended;
  std::optional<Sleeper> sleeper;
  {
    std::unique_lock lock(lock_.mutex);
    CASYNC_RETURN_IF_ERROR(look_until_copied(handles, until, lock, &looked, done));
    if (!done->empty()) return Status::ok();
    if (closed_ && !looked.uses_memory()) return aborted("the session was closed");
    if (!looked.late) {
      lock.unlock();
      return end_with(session_, looked.late);
    }
    if (looked.copies) return Status::ok();  // `until` has come
    if (looked.wholes.empty()) return wait_for_news(handles, looked, until, interrupted, lock);
    const bool is_to_look_again = looked.may_leave || !looked.no_more;  // or the step goes on
    if (is_to_look_again && !interrupted.load()) sleeper.emplace(*this);
  }
  const std::atomic<bool>& ends = sleeper ? sleeper->looks_again() : interrupted;
  const Status status = session_.wait_any(looked.wholes, std::min(until, looked.first_due), ends, &ended);
  return hand_over_ended(looked, ended, status, done);
}

/// Hands over the results of what has left and `ended`, and adds those that are there to `done`. Returns `status`,
/// which the wrapped session gave with them, or the device's failure.
Status GroupWaits::hand_over_ended(const Looked& looked, std::span<const Handle> ended, const Status& status,
                                   std::vector<Handle>* done) {
  std::lock_guard lock(lock_.mutex);
  Status failed;
  for_each_ended(looked.wholes, ended, [&](std::size_t i) {
    const Handle handle = looked.waiting[i];
    const GroupedGradient& gradient = table_.at(GradientId(index_of(handle)));
    Result<bool> there = true;
    if (!gradient.own) {
      const bool begun = gradient.group->is_handed_over(gradient.place, step_of(handle));
      if (!begun && failed.is_ok()) failed = hand_over(gradient, handle);
      there = gradient.group->has_result(gradient.place, step_of(handle));
    }
    if (there && *there) done->push_back(handle);
  });
  return failed.is_ok() ? status : end_with(session_, failed);
}

Status GroupWaits::note_exposed(Handle handle, double seconds) {
  Handle inner{};
  {
    std::lock_guard lock(lock_.mutex);
    const Result<const GroupedGradient*> gradient = table_.of(handle);
    if (!gradient) return gradient.status();
    if (!(*gradient)->has_left(step_of(handle))) return Status::ok();
    inner = (*gradient)->inner(handle);
  }
  return session_.note_exposed(inner, seconds);
}

/// Waits until done(group) is true of each group. `lock` is held.
template <class Done>
Status GroupWaits::wait_for_groups(std::unique_lock<std::mutex>& lock, const Done& done) {
  const Clock::time_point deadline = after(Seconds(timeout_s_));
  for (const std::unique_ptr<SentGroup>& group : table_.groups()) {
    while (true) {
      const Result<bool> all = done(*group);
      if (!all) return end_with(session_, all.status());
      if (*all) break;
      if (Clock::now() >= deadline) {
        return end_with(
            session_, timeout_error(fmt::format("the device has not copied results of group {} to its members' memory "
                                                "within {} s",
                                                group->members().name(), timeout_s_)));
      }
      SessionLock::pause(lock);
    }
  }
  return Status::ok();
}

Status GroupWaits::hand_over_all(std::unique_lock<std::mutex>& lock) {
  const std::uint32_t step = step_.number();
  return wait_for_groups(lock, [&](SentGroup& group) {
    return group.hand_over_all(group.has_left(step) && session_.has_finite_result(handle_of(step, *group.id())));
  });
}

Status GroupWaits::wait_for_copies(std::unique_lock<std::mutex>& lock) {
  return wait_for_groups(lock, [](SentGroup& group) { return group.copies_are_over(); });
}

}  // namespace casync::runtime
