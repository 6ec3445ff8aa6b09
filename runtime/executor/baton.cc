// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/baton.h"

namespace casync::runtime {
namespace {

// A bound on what a lost wake-up could cost, while one caller keeps the baton.
constexpr std::chrono::milliseconds kLongest{500};

}  // namespace

void Baton::lend() {
  std::unique_lock lock(mutex_);
  called_ = false;
  holder_.store(Holder::kNobody);
  if (wanted_.load() == 0 && has_work_()) {  // the caller that wanted it is gone
    holder_.store(Holder::kThread);
    return;
  }
  for (std::uint64_t seen = taken_ - 1;;) {
    sleeps_long_ = holder_.load() == Holder::kCaller && taken_ == seen;
    seen = taken_;
    const bool called = called_thread_.wait_for(
        lock, sleeps_long_ ? Clock::duration(kLongest) : Clock::duration(kLinger), [&] { return called_; });
    called_ = sleeps_long_ = false;
    if (holder_.load() == Holder::kCaller) continue;     // it looks for work when it gives the baton back
    if (!called && has_work_()) came_at_once_.store(0);  // a caller was expected, and did not come
    if (called || has_work_() || taken_ == seen) break;
  }
  holder_.store(Holder::kThread);
}

void Baton::stop_wanting() {
  wanted_.fetch_sub(1);
  if (is_free() && has_work_()) call_thread();
}

bool Baton::try_take() {
  if (!is_free()) return false;
  {
    std::lock_guard lock(mutex_);
    if (!is_free()) return false;
    holder_.store(Holder::kCaller);
    ++taken_;
  }
  note_taker();
  return true;
}

void Baton::note_taker() {
  if (!awaits_taker_.exchange(false)) return;
  const Clock::time_point since{Clock::duration(submitted_at_.load())};
  came_at_once_.store(Clock::now() - since <= kAtOnce ? came_at_once_.load() + 1 : 0);
}

void Baton::give_back() {
  bool call = false;
  {
    std::lock_guard lock(mutex_);
    holder_.store(Holder::kNobody);
    call = sleeps_long_;
  }
  if (call || has_work_()) call_thread();
}

void Baton::call_thread() {
  {
    std::lock_guard lock(mutex_);
    called_ = true;
  }
  called_thread_.notify_one();
}

bool Baton::submitted_by_waiter() {
  submitted_at_.store(Clock::now().time_since_epoch().count());
  if (awaits_taker_.exchange(true)) came_at_once_.store(0);  // nobody came for the one before
  return came_at_once_.load() >= kExpected;
}

}  // namespace casync::runtime
