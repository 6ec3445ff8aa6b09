// SPDX-License-Identifier: Apache-2.0
//
// Callers that wait. The one that waits for the only gradient under way moves it on by itself: it takes the baton from
// the progress thread, which then need not be woken up, nor wake the caller.
#include <algorithm>
#include <array>
#include <exception>
#include <thread>

#include "base/allocation_count.h"
#include "base/thread.h"
#include "runtime/executor/executor.h"

namespace casync::runtime {
namespace {

// Time for which a caller that waits for a gradient looks before it sleeps: a small one is there by then, and waking up
// would take a tenth of its time. Whoever else wants the core gets it.
constexpr std::chrono::microseconds kPollTime{100};

/// Looks until `there` returns true, at most until the deadline. Returns the last look.
template <class There>
bool look(const There& there, Clock::time_point deadline) {
  for (const auto until = std::min(deadline, Clock::now() + kPollTime); Clock::now() < until;) {
    if (there()) return true;
    std::this_thread::yield();
  }
  return there();
}

}  // namespace

Status Executor::wait(GradientRun& run, std::uint32_t step, Clock::time_point deadline) {
  const auto completed = [&] { return run.completed.load(std::memory_order_acquire) > step; };
  prepare_waiter();
  if (completed()) return Status::ok();
  if (may_drive()) {
    bool taken = baton_.try_take();
    if (!taken) {
      if (baton_.want()) wake();
      look([&] { return completed() || (taken = baton_.try_take()); }, deadline);
      baton_.stop_wanting();
    }
    if (taken) drive(completed, deadline);
  } else {
    look(completed, deadline);
  }
  if (completed()) return Status::ok();
  std::unique_lock lock(wait_mutex_);
  changed_.wait_until(lock, deadline, [&] { return completed() || announced_failure_; });
  if (completed()) return Status::ok();
  if (announced_failure_) return failure_;
  lock.unlock();
  return late(run);
}

/// Several gradients under way are the progress thread's: a caller that leaves after the first would have to wake it. A
/// device's calls belong to one thread.
bool Executor::may_drive() const { return device_.is_host() && !options_.coordinated && active_.load() == 1; }

/// Moves everything on until `completed` returns true, the deadline, or until the progress thread has to: to end
/// things, to answer a question, or to run a task that takes longer than a caller may. With the baton, which it gives
/// back.
template <class Completed>
void Executor::drive(const Completed& completed, Clock::time_point deadline) {
  const double before = options_.timeline != nullptr ? seconds_of_this_thread() : 0;
  try {
    is_driven_ = true;
    too_long_for_caller_ = false;
    allocations_seen_ = allocations_of_this_thread();
    const auto goes_on = [&] { return !completed() && !failing_.load() && !stopping_.load() && !has_calls_.load(); };
    while (goes_on() && !too_long_for_caller_ && Clock::now() < deadline) {
      if (!round() && !too_long_for_caller_) sleep_as_caller(deadline);
    }
    if (announce_) announce();
  } catch (const std::exception& error) {
    report(internal_error(std::string("a caller that waited met an exception: ") + error.what()));
  }
  is_driven_ = false;
  if (options_.timeline != nullptr) driven_s_.fetch_add(seconds_of_this_thread() - before);
  baton_.give_back();
}

/// Polls first. A core that is left on a busy machine is another process's for milliseconds, and this thread has
/// nothing else to do; the progress thread yields, because the program computes meanwhile.
void Executor::sleep_as_caller(Clock::time_point deadline) {
  const Clock::time_point from = Clock::now();
  if (options_.spins) {
    const Clock::time_point until = std::min(deadline, from + callers_spin_.length());
    do {
      if (transport_->progress()) return;
    } while (Clock::now() < until);
  }
  sleep(deadline);
  callers_spin_.slept(Clock::now() - from);
}

void Executor::prepare_waiter() {
  thread_local std::array<std::uint64_t, 4> prepared{};  // for several sessions in turns
  thread_local std::size_t next = 0;
  const std::uint64_t wanted = preparation_.load();
  if (wanted == 0 || std::find(prepared.begin(), prepared.end(), wanted) != prepared.end()) return;
  std::lock_guard lock(runs_mutex_);
  for (const GradientRun* run : by_index_) run->prepare_thread();
  prepared[next++ % prepared.size()] = wanted;
}

Status Executor::wait_any(std::span<const Awaited> awaited, Clock::time_point deadline,
                          const std::function<bool()>& interrupted) {
  const auto any = [&] {
    return std::any_of(awaited.begin(), awaited.end(), [](const Awaited& one) {
      return one.run != nullptr && one.run->completed.load(std::memory_order_acquire) > one.step;
    });
  };
  std::unique_lock lock(wait_mutex_);
  changed_.wait_until(lock, deadline, [&] { return interrupted() || announced_failure_ || any(); });
  if (interrupted() || any()) return Status::ok();
  return announced_failure_ ? failure_ : timeout_error("none of " + std::to_string(awaited.size()) + " is done");
}

Status Executor::wait_until(const std::function<bool()>& ready, Clock::time_point deadline) const {
  std::unique_lock lock(wait_mutex_);
  const bool in_time = changed_.wait_until(lock, deadline, [&] { return ready() || announced_failure_; });
  if (announced_failure_) return failure_;
  return in_time ? Status::ok() : timeout_error("not ready in time");
}

Status Executor::wait_all(Clock::time_point deadline) {
  std::unique_lock lock(wait_mutex_);
  const bool in_time = changed_.wait_until(lock, deadline, [&] { return active_.load() == 0 || announced_failure_; });
  if (announced_failure_) return failure_;
  if (in_time) return Status::ok();
  return timeout_error(std::to_string(active_.load()) + " gradients are under way");
}

}  // namespace casync::runtime
