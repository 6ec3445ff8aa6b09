// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/grouped_session.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "runtime/session/declarations.h"
#include "runtime/session/group_states.h"
#include "runtime/session/handles.h"

namespace casync::runtime {
namespace {

// Interval at which a wait for a group that has not started asks whether the job has failed.
constexpr std::chrono::milliseconds kLook{100};

// Interval at which such a wait is logged, unless a tenth of the session's time limit is shorter.
constexpr Seconds kStall{30};

constexpr const char* kHowToGoOn = ": submit it, zeros if it is not used, or leave it out of the group";

std::string quoted(const std::string& name) { return "`" + name + "`"; }

}  // namespace

GroupedSession::GroupedSession(std::unique_ptr<Session> session, const Plan& plan, double timeout_s)
    : WrappingSession(std::move(session)), mode_(plan.mode), timeout_s_(timeout_s) {
  for (const GradientGroup& group : plan.groups) {
    groups_.push_back(std::make_unique<SentGroup>(group));
    for (std::size_t i = 0; i < group.gradients.size(); ++i) {
      place_of_.emplace(group.gradients[i], std::pair(groups_.back().get(), i));
    }
  }
}

GroupedSession::~GroupedSession() {
  if (forked()) {
    static_cast<void>(changed_.release());  // whoever waits for it does not exist here
  } else {
    static_cast<void>(close());
  }
}

Result<GradientId> GroupedSession::declare(const GradientSpec& gradient) {
  if (forked()) return session_->declare(gradient);
  std::lock_guard lock(mutex_);
  if (const auto member = place_of_.find(gradient.name); member != place_of_.end()) {
    return declare_member(gradient, *member->second.first, member->second.second);
  }
  for (const std::unique_ptr<SentGroup>& group : groups_) {
    if (group->name() == gradient.name) {
      return invalid_argument("gradient " + gradient.name + ": the plan has a group of this name: rename the group");
    }
  }
  const Result<GradientId> own = session_->declare(gradient);
  return own ? add(gradient.name, {*own, nullptr, 0}) : own;
}

Result<GradientId> GroupedSession::add(const std::string& name, const Gradient& gradient) {
  const auto [known, fresh] = ids_.emplace(name, GradientId(static_cast<std::uint32_t>(gradients_.size())));
  if (fresh) gradients_.push_back(gradient);
  return known->second;
}

Result<GradientId> GroupedSession::declare_member(const GradientSpec& gradient, SentGroup& group, std::size_t place) {
  CASYNC_RETURN_IF_ERROR(group.declare(place, gradient));
  if (group.has_all() && !group.id()) CASYNC_RETURN_IF_ERROR(close_group(group));
  return add(gradient.name, {std::nullopt, &group, place});
}

Status GroupedSession::close_group(SentGroup& group) {
  GradientSpec whole = group.spec();
  const Result<GradientId> id = session_->declare(whole);
  if (!id) return id.status();
  group.close(*id, std::move(whole));
  return Status::ok();
}

Status GroupedSession::check(std::span<const Submission> submissions) {
  if (!submissions.empty() && !is_consensus_ && exchanged_in(mode_, step_) == Exchanged::kNothing) {
    return exchanges_nothing(mode_, step_);
  }
  ++submit_calls_;
  for (const Submission& one : submissions) {
    const auto index = static_cast<std::size_t>(one.gradient);
    if (index >= gradients_.size()) return invalid_argument("no gradient has the id " + std::to_string(index));
    const Gradient& gradient = gradients_[index];
    if (gradient.group == nullptr) continue;
    CASYNC_RETURN_IF_ERROR(gradient.group->check(gradient.place, one, step_, submit_calls_));
  }
  return Status::ok();
}

Status GroupedSession::submit(std::span<const Submission> submissions, std::span<Handle> handles) {
  if (forked()) return session_->submit(submissions, handles);
  if (handles.size() < submissions.size()) {
    return invalid_argument("room for " + std::to_string(handles.size()) + " handles, expected " +
                            std::to_string(submissions.size()));
  }
  std::lock_guard one_at_a_time(submit_mutex_);
  starts_.clear();
  {
    std::lock_guard lock(mutex_);
    CASYNC_RETURN_IF_ERROR(check(submissions));
    for (const Submission& one : submissions) {
      const Gradient& gradient = gradients_[static_cast<std::size_t>(one.gradient)];
      if (gradient.own) {
        starts_.push_back(one);
        starts_.back().gradient = *gradient.own;
        continue;
      }
      SentGroup& group = *gradient.group;
      if (group.gather(gradient.place, one.data, step_, submit_calls_))
        starts_.push_back({*group.id(), group.memory()});
    }
  }
  started_.resize(starts_.size());
  CASYNC_RETURN_IF_ERROR(session_->submit(starts_, started_));  // also with none: it says if the job has failed
  std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    const Gradient& gradient = gradients_[static_cast<std::size_t>(submissions[i].gradient)];
    handles[i] = handle_of(step_, submissions[i].gradient);
    if (gradient.group != nullptr) gradient.group->submitted(gradient.place, submissions[i].data, step_);
  }
  changed_->notify_all();
  return Status::ok();
}

Status GroupedSession::start_open_groups() {
  starts_.clear();
  std::vector<SentGroup*> starting;
  {
    std::lock_guard lock(mutex_);
    for (const std::unique_ptr<SentGroup>& group : groups_) {
      if (group->id() || group->submitted_in(step_) == 0) continue;
      CASYNC_RETURN_IF_ERROR(close_group(*group));
      if (!group->is_whole(step_)) continue;
      starts_.push_back({*group->id(), group->memory()});
      starting.push_back(group.get());
    }
  }
  if (starts_.empty()) return Status::ok();
  started_.resize(starts_.size());
  CASYNC_RETURN_IF_ERROR(session_->submit(starts_, started_));
  std::lock_guard lock(mutex_);
  changed_->notify_all();
  return Status::ok();
}

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

/// Hands over the member's result if it is there; true if it is.
bool GroupedSession::hands_over(const Gradient& gradient, Handle handle) const {
  SentGroup& group = *gradient.group;
  if (group.has_result(gradient.place, step_of(handle))) return true;
  if (!group.id() || !group.is_whole(step_of(handle)) || !session_->done(inner_handle(gradient, handle))) return false;
  group.hand_over(gradient.place);
  return true;
}

Status GroupedSession::wait_until_whole(const Gradient& gradient, Handle handle, double timeout_s) {
  const bool own = timeout_s >= 0 && timeout_s < timeout_s_;
  const Clock::time_point deadline = after(Seconds(own ? timeout_s : timeout_s_));
  SentGroup& group = *gradient.group;
  const auto may_go_on = [&] {
    return group.has_result(gradient.place, step_of(handle)) || (group.id() && group.is_whole(step_of(handle)));
  };
  Clock::time_point warned = Clock::now();
  const Seconds stall = std::min(kStall, Seconds(timeout_s_ / 10));
  std::unique_lock lock(mutex_);
  while (!changed_->wait_until(lock, std::min(deadline, after(kLook)), may_go_on)) {
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
  const Clock::time_point begun = Clock::now();
  Gradient gradient;
  {
    std::lock_guard lock(mutex_);
    const Result<const Gradient*> known = gradient_of(handle);
    if (!known) return known.status();
    gradient = **known;
  }
  if (gradient.own) return session_->wait(inner_handle(gradient, handle), timeout_s, waiter);
  CASYNC_RETURN_IF_ERROR(wait_until_whole(gradient, handle, timeout_s));
  Handle whole{};
  {
    std::lock_guard lock(mutex_);
    if (gradient.group->has_result(gradient.place, step_of(handle))) return Status::ok();
    whole = inner_handle(gradient, handle);
  }
  const double left = timeout_s < 0 ? timeout_s : std::max(0.0, timeout_s - Seconds(Clock::now() - begun).count());
  CASYNC_RETURN_IF_ERROR(session_->wait(whole, left, waiter));
  std::lock_guard lock(mutex_);
  // Or step() has, meanwhile, and what is there now is the next step's.
  if (!gradient.group->has_result(gradient.place, step_of(handle))) gradient.group->hand_over(gradient.place);
  return Status::ok();
}

bool GroupedSession::done(Handle handle) const {
  if (forked()) return false;
  std::lock_guard lock(mutex_);
  const Result<const Gradient*> gradient = gradient_of(handle);
  if (!gradient) return false;
  return (*gradient)->own ? session_->done(inner_handle(**gradient, handle)) : hands_over(**gradient, handle);
}

Status GroupedSession::wait_any(std::span<const Handle> handles, const std::atomic<bool>& interrupted,
                                std::vector<Handle>* done) {
  done->clear();
  if (forked()) return session_->wait_any(handles, interrupted, done);
  thread_local std::vector<Handle> waiting, wholes, ended;  // keep their memory: this runs in every step
  waiting.clear();
  wholes.clear();
  {
    std::unique_lock lock(mutex_);
    for (const Handle handle : handles) {
      const Result<const Gradient*> gradient = gradient_of(handle);
      if (!gradient) return gradient.status();
      const Gradient& own = **gradient;
      if (own.group != nullptr && hands_over(own, handle)) {
        done->push_back(handle);
      } else if (own.group == nullptr || (own.group->id() && own.group->is_whole(step_of(handle)))) {
        waiting.push_back(handle);
        wholes.push_back(inner_handle(own, handle));
      }
    }
    if (!done->empty()) return Status::ok();
    if (closed_) return aborted("the session was closed");
    if (wholes.empty()) {  // the caller looks again when a group has started
      changed_->wait_until(lock, after(kLook), [&] { return interrupted.load(); });
      lock.unlock();
      return session_->submit({}, {});
    }
  }
  const Status status = session_->wait_any(wholes, interrupted, &ended);
  std::lock_guard lock(mutex_);
  for_each_ended(wholes, ended, [&](std::size_t i) {
    const Gradient& gradient = gradients_[index_of(waiting[i])];
    if (gradient.group != nullptr && !gradient.group->has_result(gradient.place, step_of(waiting[i]))) {
      gradient.group->hand_over(gradient.place);
    }
    done->push_back(waiting[i]);
  });
  return status;
}

Status GroupedSession::note_exposed(Handle handle, double seconds) {
  if (forked()) return session_->note_exposed(handle, seconds);
  Handle inner{};
  {
    std::lock_guard lock(mutex_);
    const Result<const Gradient*> gradient = gradient_of(handle);
    if (!gradient) return gradient.status();
    const SentGroup* const group = (*gradient)->group;
    if (group != nullptr && !(group->id() && group->is_whole(step_of(handle)))) return Status::ok();
    inner = inner_handle(**gradient, handle);
  }
  return session_->note_exposed(inner, seconds);
}

/// InvalidArgument: some members of a group have been submitted, and others have not.
Status GroupedSession::check_whole(const char* then) const {
  for (const std::unique_ptr<SentGroup>& group : groups_) {
    if (group->submitted_in(step_) == 0 || group->is_whole(step_)) continue;
    return invalid_argument("step " + std::to_string(step_) + ": group " + quoted(group->name()) +
                            " has not been submitted without " + group->missing(step_) + then);
  }
  return Status::ok();
}

Status GroupedSession::begin_consensus() {
  if (forked()) return session_->begin_consensus();
  {
    std::lock_guard lock(mutex_);
    CASYNC_RETURN_IF_ERROR(check_whole(": the step has submissions"));
  }
  CASYNC_RETURN_IF_ERROR(session_->begin_consensus());
  std::lock_guard lock(mutex_);
  is_consensus_ = true;
  return Status::ok();
}

void GroupedSession::end_submissions() {
  if (forked()) return;
  std::lock_guard one_at_a_time(submit_mutex_);
  static_cast<void>(start_open_groups());  // step() says it again
  session_->end_submissions();
  std::lock_guard lock(mutex_);
  has_ended_ = true;
}

Result<StepResult> GroupedSession::step() {
  if (forked()) return session_->step();
  std::lock_guard one_at_a_time(submit_mutex_);
  CASYNC_RETURN_IF_ERROR(start_open_groups());
  {
    std::lock_guard lock(mutex_);
    CASYNC_RETURN_IF_ERROR(check_whole(kHowToGoOn));
  }
  Result<StepResult> result = session_->step();
  if (!result) return result;
  std::lock_guard lock(mutex_);
  for (const std::unique_ptr<SentGroup>& group : groups_) {
    group->hand_over_all();
    if (result->finite || result->first_non_finite != group->name()) continue;
    if (std::string member = group->not_finite(); !member.empty()) result->first_non_finite = std::move(member);
  }
  ++step_;
  is_consensus_ = has_ended_ = false;
  changed_->notify_all();
  return result;
}

Result<SessionState> GroupedSession::state() const {
  if (forked()) return session_->state();
  std::lock_guard lock(mutex_);
  CASYNC_RETURN_IF_ERROR(check_whole(": end the step, then take the state"));
  Result<SessionState> state = session_->state();
  if (!state) return state;
  for (const std::unique_ptr<SentGroup>& group : groups_) {
    if (group->id()) split_states(group->whole(), *state);
  }
  return state;
}

Status GroupedSession::load_state(const SessionState& state) {
  if (forked()) return session_->load_state(state);
  std::lock_guard one_at_a_time(submit_mutex_);
  std::lock_guard lock(mutex_);
  CASYNC_RETURN_IF_ERROR(check_whole(": end the step, then load a state"));
  SessionState whole = state;
  for (const std::unique_ptr<SentGroup>& group : groups_) {
    if (group->members() == 0) {
      CASYNC_RETURN_IF_ERROR(group->check_none_in(state));
      continue;
    }
    if (!group->id()) CASYNC_RETURN_IF_ERROR(close_group(*group));
    CASYNC_RETURN_IF_ERROR(join_states(group->whole(), whole));
  }
  CASYNC_RETURN_IF_ERROR(session_->load_state(whole));
  for (const std::unique_ptr<SentGroup>& group : groups_) group->forget();
  submit_calls_ = 0;
  step_ = state.step;
  is_consensus_ = has_ended_ = false;
  return Status::ok();
}

void GroupedSession::abort(const std::string& reason) {
  session_->abort(reason);
  nudge();
}

Status GroupedSession::close() {
  if (forked()) return session_->close();
  Status part;
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(closed_, true)) return session_->close();
    part = check_whole("");
    changed_->notify_all();
  }
  Status closed = session_->close();
  return closed.is_ok() && !part.is_ok() ? aborted("the session was closed in " + part.message()) : closed;
}

}  // namespace casync::runtime
