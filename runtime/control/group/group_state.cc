// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/group_state.h"

#include <algorithm>

namespace casync::runtime {

void GroupState::joined(std::vector<Identity> roster) {
  const std::lock_guard lock(mutex_);
  roster_ = std::move(roster);
  changed_.notify_all();
}

void GroupState::failed(const Status& cause) {
  {
    const std::lock_guard lock(mutex_);
    if (!failure_.is_ok()) return;  // the first cause stands
    failure_ = cause;
    changed_.notify_all();
  }
  run_watchers();
}

void GroupState::gathered(Result<std::vector<BlobRef>> blobs) {
  const std::lock_guard lock(mutex_);
  answer_ = std::move(blobs);
  changed_.notify_all();
}

void GroupState::agreed(const Agreement& agreement) {
  {
    const std::lock_guard lock(mutex_);
    agreed_.insert(agreement.names.begin(), agreement.names.end());
    changed_.notify_all();
  }
  watchers_.tell_agreed(agreement);
}

void GroupState::left(Rank rank, const LastWords& words) {
  {
    const std::lock_guard lock(mutex_);
    if (!left_.emplace(rank, words).second) return;
    changed_.notify_all();
  }
  if (rank != self_) watchers_.tell_left(rank, words);
}

void GroupState::alone(Rank leaver) {
  const std::lock_guard lock(mutex_);
  alone_without_ = leaver;
  changed_.notify_all();
}

void GroupState::add_leave_watcher(std::function<void(Rank, const LastWords&)> watcher) {
  for (const auto& [rank, words] : left_) {  // written by this very thread only
    if (rank != self_) watcher(rank, words);
  }
  watchers_.add_leave(std::move(watcher));
}

void GroupState::run_watchers() {
  if (const Status cause = failure(); !cause.is_ok()) watchers_.tell_failed(cause);
}

std::optional<Status> GroupState::wait_joined(Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline, [&] { return !roster_.empty() || !failure_.is_ok(); });
  // A group that came together and failed at once has come together: the failure is the next call's.
  if (!roster_.empty()) return Status::ok();
  if (!failure_.is_ok()) return failure_;
  return std::nullopt;
}

int GroupState::local_ranks() const {
  const std::string& here = roster_.at(static_cast<std::size_t>(self_)).machine;
  if (here.empty()) return 1;  // a machine without a name is nobody's neighbour
  return static_cast<int>(
      std::count_if(roster_.begin(), roster_.end(), [&](const Identity& each) { return each.machine == here; }));
}

bool GroupState::is_one_process() const {
  const Identity& self = roster_.at(static_cast<std::size_t>(self_));
  return std::all_of(roster_.begin(), roster_.end(), [&](const Identity& each) { return each.is_process_of(self); });
}

void GroupState::expect_answer() {
  const std::lock_guard lock(mutex_);
  answer_.reset();
}

std::optional<Result<std::vector<BlobRef>>> GroupState::wait_answer(Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline, [&] { return answer_.has_value() || !failure_.is_ok(); });
  if (answer_) return std::move(*answer_);
  if (!failure_.is_ok()) return Result<std::vector<BlobRef>>(failure_);
  return std::nullopt;
}

std::optional<Status> GroupState::wait_agreed(const std::string& name, Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  const auto is_agreed = [&] { return agreed_.count(name) != 0; };
  changed_.wait_until(lock, deadline, [&] { return is_agreed() || alone_without_ || !failure_.is_ok(); });
  if (is_agreed()) return Status::ok();
  if (!failure_.is_ok()) return failure_;
  if (alone_without_) {
    return peer_failure("rank " + std::to_string(*alone_without_) +
                        " closed its session while ranks had yet to agree on \"" + name + "\"");
  }
  return std::nullopt;
}

std::optional<Status> GroupState::wait_all_left(Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  const auto all_left = [&] { return alone_without_ || left_.size() == roster_.size(); };
  changed_.wait_until(lock, deadline, [&] { return all_left() || !failure_.is_ok(); });
  if (all_left()) return Status::ok();
  if (!failure_.is_ok()) return failure_;
  return std::nullopt;
}

bool GroupState::wait_failed(Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline, [&] { return !failure_.is_ok(); });
}

std::vector<Rank> GroupState::not_left() const {
  const std::lock_guard lock(mutex_);
  std::vector<Rank> missing;
  for (Rank rank = 0; rank < static_cast<Rank>(roster_.size()); ++rank) {
    if (left_.count(rank) == 0) missing.push_back(rank);
  }
  return missing;
}

Status GroupState::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

}  // namespace casync::runtime
