// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/grouped_session.h"

#include <algorithm>
#include <utility>

#include "runtime/session/declarations.h"
#include "runtime/session/handles.h"
#include "runtime/session/session_device.h"

namespace casync::runtime {
namespace {

std::string quoted(const std::string& name) { return "`" + name + "`"; }

std::unique_ptr<RunRecord> record_of(const Session& session, const SyncMode& mode, const std::string& directory,
                                     Device& device) {
  if (session.rank() != 0 || directory.empty()) return nullptr;
  return std::make_unique<RunRecord>(directory, session.ranks(), mode, device);
}

}  // namespace

GroupedSession::GroupedSession(std::unique_ptr<Session> session, Device& device, const Plan& plan, double timeout_s,
                               const std::string& record_directory)
    : WrappingSession(std::move(session)),
      mode_(plan.mode),
      timeout_s_(timeout_s),
      record_(record_of(*session_, mode_, record_directory, device)) {
  for (const GradientGroup& group : plan.groups) {
    groups_.push_back(std::make_unique<SentGroup>(group, device));
    for (std::size_t i = 0; i < group.gradients.size(); ++i) {
      place_of_.emplace(group.gradients[i], std::pair(groups_.back().get(), i));
    }
  }
}

GroupedSession::~GroupedSession() {
  if (forked()) {
    lock_.leave_to_threads();
    for (std::unique_ptr<SentGroup>& group : groups_) static_cast<void>(group.release());
    static_cast<void>(record_.release());  // with events of the parent's device
  } else {
    static_cast<void>(close());
  }
}

Result<GradientId> GroupedSession::declare(const GradientSpec& gradient) {
  if (forked()) return session_->declare(gradient);
  std::lock_guard lock(lock_.mutex);
  if (const auto member = place_of_.find(gradient.name); member != place_of_.end()) {
    return declare_member(gradient, *member->second.first, member->second.second);
  }
  for (const std::unique_ptr<SentGroup>& group : groups_) {
    if (group->name() == gradient.name) {
      return invalid_argument("gradient " + gradient.name + ": the plan has a group of this name: rename the group");
    }
  }
  const Result<GradientId> own = session_->declare(gradient);
  return own ? add(gradient, {*own, nullptr, 0}) : own;
}

Result<GradientId> GroupedSession::add(const GradientSpec& spec, const Gradient& gradient) {
  if (const auto known = ids_.find(spec.name); known != ids_.end()) return known->second;
  if (record_) CASYNC_RETURN_IF_ERROR(record_->declared(spec));
  const auto id = GradientId(static_cast<std::uint32_t>(gradients_.size()));
  ids_.emplace(spec.name, id);
  gradients_.push_back(gradient);
  return id;
}

Result<GradientId> GroupedSession::declare_member(const GradientSpec& gradient, SentGroup& group, std::size_t place) {
  CASYNC_RETURN_IF_ERROR(group.declare(place, gradient));
  if (group.has_all() && !group.id()) CASYNC_RETURN_IF_ERROR(close_group(group));
  return add(gradient, {std::nullopt, &group, place});
}

Status GroupedSession::close_group(SentGroup& group) {
  GradientSpec whole = group.spec();
  const Result<GradientId> id = session_->declare(whole);
  if (!id) return id.status();
  return group.close(*id, std::move(whole));
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
    std::lock_guard lock(lock_.mutex);
    if (Status refused = check(submissions); !refused) return has_failed_device(refused) ? end_with(refused) : refused;
    if (record_) record_->submitted(submissions);
    for (Submission one : submissions) {
      if (record_) {
        if (Status sampled = record_->sample(one, step_); !sampled) return end_with(sampled);
      }
      const Gradient& gradient = gradients_[static_cast<std::size_t>(one.gradient)];
      if (gradient.own) {
        starts_.push_back(one);
        starts_.back().gradient = *gradient.own;
        continue;
      }
      SentGroup& group = *gradient.group;
      const Result<bool> is_whole = group.gather(gradient.place, one, step_, submit_calls_);
      if (!is_whole) return end_with(is_whole.status());
      if (*is_whole) starts_.push_back(group.submission());
    }
    if (record_) record_->goes_on();
  }
  started_.resize(starts_.size());
  CASYNC_RETURN_IF_ERROR(session_->submit(starts_, started_));  // also with none: it says if the job has failed
  std::lock_guard lock(lock_.mutex);
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    const Gradient& gradient = gradients_[static_cast<std::size_t>(submissions[i].gradient)];
    handles[i] = handle_of(step_, submissions[i].gradient);
    if (gradient.group != nullptr) gradient.group->submitted(gradient.place, step_);
  }
  lock_.changed->notify_all();
  return Status::ok();
}

Status GroupedSession::start_open_groups() {
  starts_.clear();
  std::vector<SentGroup*> starting;
  {
    std::lock_guard lock(lock_.mutex);
    for (const std::unique_ptr<SentGroup>& group : groups_) {
      if (group->id() || group->submitted_in(step_) == 0) continue;
      CASYNC_RETURN_IF_ERROR(close_group(*group));
      if (!group->is_whole(step_)) continue;
      starts_.push_back(group->submission());
      starting.push_back(group.get());
    }
  }
  if (starts_.empty()) return Status::ok();
  started_.resize(starts_.size());
  CASYNC_RETURN_IF_ERROR(session_->submit(starts_, started_));
  std::lock_guard lock(lock_.mutex);
  lock_.changed->notify_all();
  return Status::ok();
}

/// Ends the job: the device has failed.
Status GroupedSession::end_with(const Status& status) {
  session_->abort(status.message());
  return status;
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
    std::lock_guard lock(lock_.mutex);
    CASYNC_RETURN_IF_ERROR(check_whole(": the step has submissions"));
  }
  CASYNC_RETURN_IF_ERROR(session_->begin_consensus());
  std::lock_guard lock(lock_.mutex);
  is_consensus_ = true;
  return Status::ok();
}

void GroupedSession::end_submissions() {
  if (forked()) return;
  std::lock_guard one_at_a_time(submit_mutex_);
  static_cast<void>(start_open_groups());  // step() says it again
  session_->end_submissions();
  std::lock_guard lock(lock_.mutex);
  has_ended_ = true;
}

Result<StepResult> GroupedSession::step() {
  if (forked()) return session_->step();
  std::lock_guard one_at_a_time(submit_mutex_);
  if (record_) {
    std::lock_guard lock(lock_.mutex);
    record_->computed();
  }
  CASYNC_RETURN_IF_ERROR(start_open_groups());
  {
    std::lock_guard lock(lock_.mutex);
    CASYNC_RETURN_IF_ERROR(check_whole(kHowToGoOn));
  }
  Result<StepResult> result = session_->step();
  if (!result) return result;
  std::unique_lock lock(lock_.mutex);
  CASYNC_RETURN_IF_ERROR(hand_over_all(lock));
  for (const std::unique_ptr<SentGroup>& group : groups_) {
    if (result->finite || result->first_non_finite != group->name()) continue;
    Result<std::string> member = group->not_finite();
    if (!member) return end_with(member.status());
    if (!member->empty()) result->first_non_finite = std::move(*member);
  }
  if (record_) record_->step_ended();
  ++step_;
  is_consensus_ = has_ended_ = false;
  lock_.changed->notify_all();
  return result;
}

/// Returns once all results are in their members' memory.
Status GroupedSession::hand_over_all(std::unique_lock<std::mutex>& lock) {
  for (const std::unique_ptr<SentGroup>& group : groups_) {
    while (true) {
      const Result<bool> all = group->hand_over_all();
      if (!all) return end_with(all.status());
      if (*all) break;
      SessionLock::pause(lock);
    }
  }
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
    std::lock_guard lock(lock_.mutex);
    if (std::exchange(closed_, true)) return session_->close();
    part = check_whole("");
    lock_.changed->notify_all();
  }
  Status closed = session_->close();
  if (record_) {
    std::lock_guard lock(lock_.mutex);
    record_->write();
  }
  return closed.is_ok() && !part.is_ok() ? aborted("the session was closed in " + part.message()) : closed;
}

}  // namespace casync::runtime
