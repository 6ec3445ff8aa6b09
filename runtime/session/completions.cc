// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/completions.h"

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/thread.h"

namespace casync::runtime {
namespace {

constexpr Seconds kCloseWait{60};

}  // namespace

Completions::~Completions() {
  if (generation_ != fork_generation()) {
    // The thread does not exist here: it cannot be joined, and the destructor of what it waited for would wait for it.
    static_cast<void>(thread_.release());
    static_cast<void>(changed_.release());
  } else {
    while (!close(after(kCloseWait))) {
    }
  }
}

Status Completions::prepare(std::size_t count) {
  std::lock_guard lock(mutex_);
  added_.reserve(expected_ + promised_ + count);
  if (!thread_) {
    auto handle = std::make_unique<std::thread>();
    Result<std::thread> thread = start_thread("casync-done", [this] { run(); });
    if (!thread) return thread.status();
    *handle = std::move(*thread);
    thread_ = std::move(handle);
  }
  promised_ += count;
  return Status::ok();
}

void Completions::forget(std::size_t count) {
  std::lock_guard lock(mutex_);
  CASYNC_CHECK(count <= promised_);
  promised_ -= count;
}

void Completions::add(Handle handle, Completion completion) {
  {
    std::lock_guard lock(mutex_);
    CASYNC_CHECK(promised_ > 0);
    added_.push_back({handle, count_++, std::move(completion)});
    --promised_;
    ++expected_;
    interrupted_ = true;
    changed_->notify_all();
  }
  session_.nudge();
}

std::uint64_t Completions::added() const {
  std::lock_guard lock(mutex_);
  return count_;
}

/// So many, from the first one on, have returned. Under the mutex.
std::uint64_t Completions::returned() const {
  if (first_taken_) return *first_taken_;
  return added_.empty() ? count_ : added_.front().number;
}

/// Returns true on the thread of completions. Under the mutex.
bool Completions::is_called_here() const { return thread_ && thread_->get_id() == std::this_thread::get_id(); }

/// Under the mutex.
Status Completions::late() const {
  return timeout_error(fmt::format(
      "the completions of {} submissions have not returned: one of them does not end, or their gradients are under way",
      expected_));
}

Status Completions::drain(std::uint64_t count, Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  if (is_called_here()) return Status::ok();
  return changed_->wait_until(lock, deadline, [&] { return returned() >= count; }) ? Status::ok() : late();
}

Status Completions::catch_up(Clock::time_point deadline) {
  std::uint64_t own = 0;
  {
    std::lock_guard lock(mutex_);
    if (expected_ == 0 || is_called_here()) return Status::ok();
    own = ++looks_asked_;
    interrupted_ = true;
  }
  session_.nudge();
  std::unique_lock lock(mutex_);
  const auto has_looked = [&] { return looks_done_ >= own || expected_ == 0; };
  return changed_->wait_until(lock, deadline, has_looked) ? Status::ok() : late();
}

bool Completions::close(Clock::time_point deadline) {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    interrupted_ = true;
    changed_->notify_all();
  }
  session_.nudge();
  std::unique_lock lock(mutex_);
  if (!thread_ || !thread_->joinable()) return true;
  if (!changed_->wait_until(lock, deadline, [&] { return ended_; })) return false;
  std::thread ended = std::move(*thread_);  // one call joins it
  lock.unlock();                            // the thread lets go of it last
  if (ended.joinable()) ended.join();
  return true;
}

/// Waits while there is nothing to wait for in the session. False: the end. It has no deadline: add() and close() end
/// it, and nobody waits for it.
bool Completions::take_added() {
  std::unique_lock lock(mutex_);
  changed_->wait(lock, [&] { return !pending_.empty() || !added_.empty() || closing_; });
  looks_ = looks_asked_;
  interrupted_ = looks_ != looks_done_;  // the next wait only looks then
  pending_.insert(pending_.end(), std::make_move_iterator(added_.begin()), std::make_move_iterator(added_.end()));
  added_.clear();
  note_taken();
  return !pending_.empty();
}

/// Notes the first of pending_, which keeps the order of add(). Under the mutex.
void Completions::note_taken() noexcept {
  first_taken_ = pending_.empty() ? std::nullopt : std::optional(pending_.front().number);
}

/// An exception ends the job. The session is then asked again: its failure comes once nothing touches the gradients any
/// more. If not even that can be had, all are told without it.
void Completions::run() {
  for (bool again = false;; again = true) {
    try {
      run_until_closed();
      break;
    } catch (const std::exception& error) {
      if (again) {
        fail_all();
      } else {
        abort(error);
      }
    }
  }
  std::lock_guard lock(mutex_);
  ended_ = true;
  changed_->notify_all();
}

void Completions::run_until_closed() {
  while (take_added()) {
    handles_.clear();
    for (const Pending& one : pending_) handles_.push_back(one.handle);
    const Status status = session_.wait_any(handles_, Clock::time_point::max(), interrupted_, &done_);
    call(status);
  }
}

void Completions::abort(const std::exception& error) noexcept {
  try {
    session_.abort(std::string("the thread of completions met an exception: ") + error.what());
  } catch (const std::exception&) {  // the session goes on, or the next exception is this thread's last
  }
}

/// Calls the completions that are pending or have been added, without any memory for it.
void Completions::fail_all() noexcept {
  done_.clear();
  call(no_memory_);
  while (true) {
    Pending one;
    {
      std::lock_guard lock(mutex_);
      if (added_.empty()) return;
      one = std::move(added_.front());
      added_.erase(added_.begin());
      first_taken_ = one.number;
    }
    one.completion(one.handle, no_memory_);
    std::lock_guard lock(mutex_);
    --expected_;
    first_taken_.reset();
    changed_->notify_all();
  }
}

/// Calls the completions of done_, which is in the order of pending_, and on a failure all. With none of them done, a
/// look that was asked for has found all told.
void Completions::call(const Status& status) noexcept {
  std::size_t kept = 0, next = 0;
  for (Pending& one : pending_) {
    const bool done = next < done_.size() && done_[next] == one.handle;
    next += done ? 1 : 0;
    if (!done && status.is_ok()) {
      std::swap(pending_[kept++], one);
    } else {
      one.completion(one.handle, done ? ok_ : status);
    }
  }
  const std::size_t called = pending_.size() - kept;
  pending_.resize(kept);
  std::lock_guard lock(mutex_);
  expected_ -= called;
  if (done_.empty()) looks_done_ = looks_;
  note_taken();
  changed_->notify_all();
}

}  // namespace casync::runtime
