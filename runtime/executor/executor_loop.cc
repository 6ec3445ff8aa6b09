// SPDX-License-Identifier: Apache-2.0
//
// The progress thread's round, and how it ends.
#include <algorithm>
#include <exception>
#include <utility>

#include "base/allocation_count.h"
#include "base/log.h"
#include "runtime/executor/executor.h"

namespace casync::runtime {
namespace {

// Time that a broken transport may take to release the callers' memory.
constexpr Seconds kLetGo{0.3};

// Wakes now and then although nothing happened: a bound on what a lost wake-up could cost, too rare to see.
constexpr Seconds kLongestSleep{0.5};

// Interval at which streams that come to rest are polled.
constexpr Seconds kRestPause{0.001};

// A device rings when a task has ended; one that has failed may not.
constexpr std::chrono::milliseconds kDeviceLook{2};

// A call of a round that is about to be in its stream: work waits behind it.
constexpr std::chrono::microseconds kStartLook{50};

// The time that tasks on a device may go on after a failure.
constexpr Seconds kDeviceRest{10};

}  // namespace

void Executor::progress_loop() {
  allocations_seen_ = allocations_of_this_thread();
  try {
    while (!stopping_.load() && !failing()) {
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
  busy |= links_.flush();
  if (settling_) check_settled();
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
  const std::vector<Requests::Call> calls = requests_.take(starting_);
  std::exception_ptr thrown;
  for (const Requests::Call& call : calls) {
    try {
      call();
    } catch (...) {  // the others have their answers all the same
      if (!thrown) thrown = std::current_exception();
    }
  }
  if (thrown) std::rethrow_exception(thrown);
  bundles_.begin_all(starting_);
  const bool any = !calls.empty() || !starting_.empty();
  if (any && !leavers_.empty()) check_leavers();
  if (any && comparing_ >= 0) check_comparing();
  starting_.clear();
  return any;
}

void Executor::announce() {
  announce_ = false;
  waiters_.announce(stats_now());
}

/// Messages of rounds count as messages.
TransportStats Executor::stats_now() const {
  TransportStats all = transport_->stats();
  if (rounds_ == nullptr) return all;
  const TransportStats more = rounds_->stats();
  all.messages_sent += more.messages_sent;
  all.messages_received += more.messages_received;
  all.payload_bytes_sent += more.payload_bytes_sent;
  all.payload_bytes_received += more.payload_bytes_received;
  all.wire_bytes_sent += more.wire_bytes_sent;
  all.wire_bytes_received += more.wire_bytes_received;
  return all;
}

void Executor::sleep() {
  watch_for_stalls();
  const Clock::time_point from = Clock::now();
  Clock::time_point until = from + std::chrono::duration_cast<Clock::duration>(kLongestSleep);
  until = std::min(until, links_.due());
  if (device_tasks_ != nullptr && device_tasks_->under_way() > 0) until = std::min(until, from + kDeviceLook);
  if (rounds_ != nullptr && rounds_->is_under_way()) {
    until = std::min<Clock::time_point>(until, rounds_->is_starting() ? from + kStartLook : from + kDeviceLook);
  }
  transport_->wait(until);
  const double slept = Seconds(Clock::now() - from).count();
  counters_.idle_s.store(counters_.idle_s.load(std::memory_order_relaxed) + slept, std::memory_order_relaxed);
}

namespace {

bool has_completed(const Leaver& leaver, const GradientRun& run) {
  if (run.step != leaver.steps) return run.step < leaver.steps;
  return std::find(leaver.gradients.begin(), leaver.gradients.end(), run.key) != leaver.gradients.end();
}

}  // namespace

/// Ends the job where a peer that left would have to give more.
void Executor::check_leavers() {
  if (!asynchronous_.empty()) {
    for (const Leaver& leaver : leavers_) {
      if (leaver.steps != kAllSteps) return report(leaver.why);
      asynchronous_.end_rank(leaver.rank, leaver.steps - 1);  // its own word may come after its goodbye
    }
    return;
  }
  for (const std::unique_ptr<GradientRun>& run : runs_) {
    if (!run->active) continue;
    for (const Leaver& leaver : leavers_) {
      if (has_completed(leaver, *run)) continue;
      return report({leaver.why.code(), leaver.why.message() + "; gradient " + run->spec.name + ", step " +
                                            std::to_string(run->step) + ", needs more of it"});
    }
  }
}

/// Ends the job where a peer that has loaded a state would have to give more of the steps that were.
void Executor::check_comparing() {
  if (comparing_for_ <= comparisons()) {
    comparing_ = -1;
    return;
  }
  const bool needs_more = std::any_of(runs_.begin(), runs_.end(),
                                      [&](const auto& run) { return run->active && run->step >= comparing_from_; });
  if (!needs_more) return;
  report(invalid_argument("rank " + std::to_string(comparing_) + " has loaded a state, and rank " +
                          std::to_string(options_.rank) +
                          " waits for its part of a step: load a state on every rank, or on none"));
}

void Executor::check_settled() {
  if (!transport_->settled() || !links_.idle()) return;
  settling_ = false;
  waiters_.settle();
}

/// A failure that only this rank may know of. The owner tells the others and calls fail().
void Executor::report(Status cause) {
  if (failing()) return;
  try {
    events_.failed(cause);
  } catch (const std::exception&) {  // then it is known here at least
  }
  fail(std::move(cause));
}

/// Ends everything. No thread may be left waiting, whatever is thrown on the way.
void Executor::shut_down() {
  const auto attempt = [](auto step) {
    try {
      step();
    } catch (const std::exception& error) {
      log().error("while the session ended: {}", error.what());
    }
  };
  const bool in_order = waiters_.close();
  if (rounds_ != nullptr) attempt([&] { end_rounds(in_order); });
  attempt([&] { come_to_rest(); });
  attempt([&] { answer_the_last(); });
  TransportStats stats;
  bool let_go = true;
  attempt([&] {
    stats = stats_now();
    let_go = transport_->close(stopping_.load() ? stop_deadline_ : after(kLetGo));
    if (!let_go) keep_memory();
  });
  waiters_.end(stats, let_go);
}

/// Never frees what messages arrive in: a network device may still write there.
void Executor::keep_memory() {
  struct Kept {
    Arena arena;
    std::vector<std::unique_ptr<GradientRun>> runs;
    Bundles::Memory bundles;
  };
  static std::mutex mutex;
  static auto& all = *new std::vector<std::unique_ptr<Kept>>();  // reachable, so that no checker calls it a leak
  std::lock_guard lock(mutex);
  all.push_back(std::make_unique<Kept>(Kept{std::move(arena_), std::move(runs_), bundles_.release()}));
}

/// Streams still read and write callers' memory: nobody hears of the end earlier.
void Executor::come_to_rest() {
  if (device_tasks_ != nullptr) static_cast<void>(device_tasks_->come_to_rest(after(kDeviceRest)));
  while (!streams_.at_rest()) {
    if (!take_outcomes()) transport_->wait(after(kRestPause));
  }
}

/// `in_order`: nothing has failed. With rounds under way it is the end of a program that did not wait for them.
void Executor::end_rounds(bool in_order) {
  if (in_order && !rounds_->is_under_way()) return rounds_->close(stop_deadline_);
  static_cast<void>(rounds_->come_to_rest(after(kDeviceRest)));
}

void Executor::watch_for_stalls() {
  const Clock::time_point now = Clock::now();
  asynchronous_.say_waits(now);
  const TransportStats stats = transport_->stats();
  const std::uint64_t moves = counters_.tasks.load() + stats.wire_bytes_sent + stats.wire_bytes_received;
  if (const auto stalled = stalls_.look(now, moves, idle())) say_stall(*stalled);
}

/// Logs a stall. Prefers a gradient that lacks a contribution: only that shows which rank is late.
void Executor::say_stall(Seconds stalled) {
  const GradientRun* worst = nullptr;
  for (const std::unique_ptr<GradientRun>& run : runs_) {
    if (!run->active) continue;
    if (worst == nullptr || (!lacks_contribution(*worst) && lacks_contribution(*run))) worst = run.get();
  }
  if (worst == nullptr) {
    log().warn("rank {}: nothing has moved for {:.1f} s: {} gradients wait until every rank has declared them",
               options_.rank, stalled.count(), active());
    return;
  }
  log().warn("rank {}: nothing has moved for {:.1f} s, with {} gradients under way; gradient {}, step {}: {}",
             options_.rank, stalled.count(), active(), worst->spec.name, worst->step, missing(*worst));
}

/// Answers the last questions. Nothing can be posted afterwards, so no thread waits for an answer that never comes.
void Executor::answer_the_last() {
  for (const Requests::Call& call : requests_.end()) {
    try {
      call();
    } catch (const std::exception&) {  // whoever asked learns of the failure
    }
  }
}

}  // namespace casync::runtime
