// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/group_table.h"

#include "runtime/session/group_states.h"
#include "runtime/session/handles.h"

namespace casync::runtime {

Handle GroupedGradient::inner(Handle handle) const { return handle_of(step_of(handle), own ? *own : *group->id()); }

GroupTable::GroupTable(Session& session, Device& device, const std::vector<GradientGroup>& groups) : session_(session) {
  for (const GradientGroup& group : groups) {
    groups_.push_back(std::make_unique<SentGroup>(group, device));
    for (std::size_t i = 0; i < group.gradients.size(); ++i) {
      place_of_.emplace(group.gradients[i], std::pair(groups_.back().get(), i));
    }
  }
}

Result<GroupedGradient> GroupTable::declare(const GradientSpec& gradient) {
  if (const auto member = place_of_.find(gradient.name); member != place_of_.end()) {
    const auto& [group, place] = member->second;
    if (gradient.scattered) {
      return plan_error("gradient " + gradient.name + ": the plan sends it in group " + group->members().name() +
                        ", whose members have no shards of their own: leave it out, or declare it without scatter");
    }
    CASYNC_RETURN_IF_ERROR(group->declare(place, gradient));
    if (group->members().has_all() && !group->id()) CASYNC_RETURN_IF_ERROR(close(*group));
    return GroupedGradient{std::nullopt, group, place};
  }
  for (const std::unique_ptr<SentGroup>& group : groups_) {
    if (group->members().name() == gradient.name) {
      return invalid_argument("gradient " + gradient.name + ": the plan has a group of this name: rename the group");
    }
  }
  const Result<GradientId> own = session_.declare(gradient);
  if (!own) return own.status();
  return GroupedGradient{*own, nullptr, 0};
}

Status GroupTable::close(SentGroup& group) {
  const Result<GradientId> id = session_.declare(group.members().spec());
  const Status closed = id ? group.close(*id) : id.status();
  group.note_closed(closed);
  return closed;
}

std::optional<GradientId> GroupTable::find(const std::string& name) const {
  const auto found = ids_.find(name);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

GradientId GroupTable::add(const std::string& name, const GroupedGradient& gradient) {
  const auto id = GradientId(static_cast<std::uint32_t>(gradients_.size()));
  ids_.emplace(name, id);
  gradients_.push_back(gradient);
  return id;
}

Result<const GroupedGradient*> GroupTable::of(Handle handle) const {
  const std::uint32_t index = index_of(handle);
  if (index < gradients_.size()) {
    const GroupedGradient& gradient = gradients_[index];
    if (gradient.group == nullptr || gradient.group->submissions().knows(gradient.place, step_of(handle)))
      return &gradient;
  }
  return unknown(handle);
}

Status GroupTable::check(std::span<const Submission> submissions, std::uint32_t step) {
  ++calls_;
  for (const Submission& one : submissions) {
    const auto index = static_cast<std::size_t>(one.gradient);
    if (index >= gradients_.size()) return invalid_argument("no gradient has the id " + std::to_string(index));
    const GroupedGradient& gradient = gradients_[index];
    if (gradient.group == nullptr) continue;
    CASYNC_RETURN_IF_ERROR(gradient.group->check(gradient.place, one, step, calls_));
  }
  return Status::ok();
}

Result<std::optional<Submission>> GroupTable::take(const Submission& submission, std::uint32_t step) {
  const GroupedGradient& gradient = at(submission.gradient);
  std::optional<Submission> leaves;
  if (gradient.own) {
    leaves = submission;
    leaves->gradient = *gradient.own;
    return leaves;
  }
  const Result<bool> is_whole = gradient.group->gather(gradient.place, submission, step, calls_);
  if (!is_whole) return is_whole.status();
  if (*is_whole) leaves = gradient.group->submission();
  return leaves;
}

void GroupTable::take_back(std::span<const Submission> submissions) {
  for (const Submission& one : submissions) {
    const GroupedGradient& gradient = at(one.gradient);
    if (gradient.group != nullptr) gradient.group->take_back(gradient.place);
  }
}

void GroupTable::submitted(GradientId gradient, std::uint32_t step) {
  const GroupedGradient& own = at(gradient);
  if (own.group != nullptr) own.group->submitted(own.place, step);
}

Status GroupTable::close_open(std::uint32_t step, std::vector<Submission>* whole) {
  Status failed;
  for (const std::unique_ptr<SentGroup>& group : groups_) {
    if (group->has_left(step) || group->submissions().count_in(step) == 0) continue;
    if (!group->id()) {
      const Status closed = close(*group);
      if (failed.is_ok()) failed = closed;
      if (!closed) continue;
    }
    if (group->is_whole(step)) whole->push_back(group->submission());
  }
  return failed;
}

Status GroupTable::close_declared() {
  Status failed;
  for (const std::unique_ptr<SentGroup>& group : groups_) {
    if (group->id() || group->members().declared() == 0) continue;
    const Status closed = close(*group);
    if (failed.is_ok()) failed = closed;
  }
  return failed;
}

void GroupTable::left(std::uint32_t step) {
  for (const std::unique_ptr<SentGroup>& group : groups_) {
    if (group->id() && group->is_whole(step)) group->left(step);
  }
}

Status GroupTable::check_whole(std::uint32_t step, const char* then) const {
  for (const std::unique_ptr<SentGroup>& group : groups_) {
    if (group->submissions().count_in(step) == 0 || group->has_left(step)) continue;
    return group->incomplete(step, then);
  }
  return Status::ok();
}

Status GroupTable::name_member(StepResult& result) const {
  for (const std::unique_ptr<SentGroup>& group : groups_) {
    if (result.finite || result.first_non_finite != group->members().name()) continue;
    Result<std::string> member = group->not_finite();
    if (!member) return member.status();
    if (!member->empty()) result.first_non_finite = std::move(*member);
  }
  return Status::ok();
}

void GroupTable::split(SessionState& state) const {
  for (const std::unique_ptr<SentGroup>& group : groups_) {
    if (group->id()) split_states(group->members().whole(), state);
  }
}

Result<SessionState> GroupTable::join(SessionState state) const {
  for (const std::unique_ptr<SentGroup>& group : groups_) {
    const GroupMembers& members = group->members();
    CASYNC_RETURN_IF_ERROR(members.declared() == 0 ? members.check_none_in(state) : join_states(members.spec(), state));
  }
  return state;
}

Status GroupTable::close_in(const SessionState& state) {
  for (const std::unique_ptr<SentGroup>& group : groups_) {
    if (!group->id() && group->members().first_in(state) != nullptr) CASYNC_RETURN_IF_ERROR(close(*group));
  }
  return Status::ok();
}

void GroupTable::forget() {
  for (const std::unique_ptr<SentGroup>& group : groups_) group->forget();
  calls_ = 0;
}

void GroupTable::leave_to_threads() {
  for (std::unique_ptr<SentGroup>& group : groups_) static_cast<void>(group.release());
}

}  // namespace casync::runtime
