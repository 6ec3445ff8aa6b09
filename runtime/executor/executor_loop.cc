// SPDX-License-Identifier: Apache-2.0
//
// The progress thread's round, and how it ends.
#include <algorithm>
#include <exception>
#include <utility>

#include "base/allocation_count.h"
#include "runtime/executor/executor.h"
#include "runtime/executor/stream_slot.h"

namespace casync::runtime {
namespace {

// How long a broken transport may take to let go of the callers' memory.
constexpr Seconds kLetGo{0.3};

// How long after a peer's goodbye, or after it turned to something else, its last messages may be on their way.
constexpr Seconds kLastWords{2};

// Wakes now and then although nothing happened: a bound on what a lost wake-up could cost, too rare to see.
constexpr Seconds kLongestSleep{0.5};

// How often streams that come to rest are looked at.
constexpr Seconds kRestPause{0.001};

}  // namespace

void Executor::progress_loop() {
  allocations_seen_ = allocations_of_this_thread();
  try {
    while (!stopping_.load() && !failing_.load()) {
      if (!round()) sleep();
    }
  } catch (const std::exception& error) {
    report(internal_error(std::string("the progress thread met an exception: ") + error.what()));
  }
  shut_down();
}

/// Everything once; false when there was nothing to do.
bool Executor::round() {
  bool busy = take_commands();
  busy |= take_outcomes();
  busy |= transport_->progress();
  busy |= run_ready_tasks();
  busy |= flush_links();
  if (!left_.empty() || comparing_ >= 0) check_leavers();
  count_allocations();
  if (announce_) announce();
  return busy;
}

void Executor::count_allocations() {
  const std::uint64_t now = allocations_of_this_thread();
  if (now == allocations_seen_) return;
  counters_.allocations.fetch_add(now - allocations_seen_, std::memory_order_relaxed);
  allocations_seen_ = now;
}

bool Executor::take_commands() {
  std::vector<std::function<void()>> calls;
  {
    std::lock_guard lock(post_mutex_);
    starting_.swap(posted_);
    calls.swap(calls_);
  }
  for (const std::function<void()>& call : calls) call();
  for (const Start& one : starting_) begin(one);
  if (!starting_.empty()) transport_->retry_held();
  const bool any = !calls.empty() || !starting_.empty();
  starting_.clear();
  return any;
}

void Executor::announce() {
  announce_ = false;
  std::lock_guard lock(wait_mutex_);
  last_stats_ = transport_->stats();
  changed_.notify_all();
}

void Executor::sleep() {
  const Clock::time_point from = Clock::now();
  Clock::time_point until = from + std::chrono::duration_cast<Clock::duration>(kLongestSleep);
  for (const PeerLink& link : links_) {
    if (!link.ready.empty()) until = std::min(until, link.pace.opens_at());
  }
  transport_->wait(until);
  const double slept = Seconds(Clock::now() - from).count();
  counters_.idle_s.store(counters_.idle_s.load(std::memory_order_relaxed) + slept, std::memory_order_relaxed);
}

void Executor::check_leavers() {
  if (comparing_for_ <= comparisons()) comparing_ = -1;
  if (active_.load() == 0 || Clock::now() - last_arrival_ < kLastWords) return;
  if (!left_.empty()) {
    const Status why = std::move(left_.front());
    left_.clear();
    report(why);
  } else if (const Rank peer = std::exchange(comparing_, -1); peer >= 0) {
    report(invalid_argument("rank " + std::to_string(peer) + " has loaded a state, and rank " +
                            std::to_string(options_.rank) + " waits for its part of a step: load a state on every " +
                            "rank, or on none"));
  }
}

/// A failure that only this rank may know of. The owner tells the others and calls fail().
void Executor::report(Status cause) {
  if (failing_.load()) return;
  try {
    events_.failed(cause);
  } catch (const std::exception&) {  // then it is known here at least
  }
  fail(std::move(cause));
}

void Executor::shut_down() {
  {
    std::lock_guard lock(wait_mutex_);
    if (failure_.is_ok()) failure_ = aborted("the session was closed");
  }
  failing_.store(true);
  // Streams still read and write callers' memory: nobody hears of the end before they have come to rest.
  while (free_slots_.size() < slots_.size()) {
    if (!take_outcomes()) transport_->wait(after(kRestPause));
  }
  answer_the_last();
  const TransportStats stats = transport_->stats();
  transport_->close(stopping_.load() ? stop_deadline_ : after(kLetGo));
  std::lock_guard lock(wait_mutex_);
  last_stats_ = stats;
  announced_failure_ = true;
  active_.store(0);
  changed_.notify_all();
}

/// After it nothing can be posted, so that nobody waits for an answer that does not come.
void Executor::answer_the_last() {
  std::vector<std::function<void()>> calls;
  {
    std::lock_guard lock(post_mutex_);
    ended_ = true;
    calls.swap(calls_);
  }
  for (const std::function<void()>& call : calls) call();
}

}  // namespace casync::runtime
