// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/waiters.h"

#include <utility>

namespace casync::runtime {

bool Waiters::fail(Status cause) {
  {
    const std::lock_guard lock(mutex_);
    if (!failure_.is_ok()) return false;
    failure_ = std::move(cause);
  }
  failing_.store(true);
  return true;
}

Status Waiters::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

std::optional<Status> Waiters::wait_until(const std::function<bool()>& ready, Clock::time_point deadline) const {
  std::unique_lock lock(mutex_);
  const bool in_time = changed_.wait_until(lock, deadline, [&] { return ready() || ended_; });
  if (ended_) return failure_;
  if (in_time) return Status::ok();
  return std::nullopt;
}

void Waiters::nudge() {
  const std::lock_guard lock(mutex_);  // a waiter that has looked already sleeps by now, and hears it
  changed_.notify_all();
}

void Waiters::announce(const TransportStats& stats) {
  const std::lock_guard lock(mutex_);
  stats_ = stats;
  changed_.notify_all();
}

TransportStats Waiters::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void Waiters::settle() {
  settled_.store(true);
  nudge();
}

bool Waiters::close() {
  {
    const std::lock_guard lock(mutex_);
    if (failure_.is_ok()) failure_ = aborted("the session was closed");
  }
  return !failing_.exchange(true);
}

void Waiters::end(const TransportStats& stats, const std::string& unsettled) {
  const std::lock_guard lock(mutex_);
  if (!unsettled.empty()) {
    failure_ = {failure_.code(), failure_.message() + "; " + unsettled + ": the gradients' memory is still in use"};
  }
  stats_ = stats;
  ended_ = true;
  holds_memory_ = !unsettled.empty();
  active_.store(0);
  changed_.notify_all();
}

bool Waiters::wait_for_end(Clock::time_point deadline) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline, [&] { return ended_; });
}

bool Waiters::holds_memory() const {
  const std::lock_guard lock(mutex_);
  return holds_memory_;
}

}  // namespace casync::runtime
