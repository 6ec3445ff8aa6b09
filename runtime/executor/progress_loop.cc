// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/progress_loop.h"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "base/log.h"

namespace casync::runtime {
namespace {

// Time that a broken transport may take to release the callers' memory.
constexpr Seconds kLetGo{0.3};

// Wakes now and then although nothing happened: a bound on what a lost wake-up could cost, too rare to see.
constexpr Seconds kLongestSleep{0.5};

}  // namespace

ProgressLoop::ProgressLoop(Transport& transport, Requests& requests, Waiters& waiters, Failures& failures,
                           WorkRecord& record, ProgressParts& parts)
    : transport_(transport),
      requests_(requests),
      waiters_(waiters),
      failures_(failures),
      record_(record),
      parts_(parts) {}

Status ProgressLoop::start() {
  Result<std::thread> thread = start_thread("casync-progress", [this] { run(); });
  if (!thread) return thread.status();
  thread_ = std::move(*thread);
  clock_.emplace(thread_);
  return Status::ok();
}

Status ProgressLoop::take_in(std::vector<std::unique_ptr<GradientRun>> gradients) {
  parts_.steps.announce_soon();
  if (failures_.failing()) return failures_.failure();
  try {
    // Every gradient at once, in both of the lists that take turns.
    const std::size_t most = parts_.runs.gradients().size() + gradients.size();
    requests_.reserve(most);
    starting_.reserve(most);
    return parts_.take_in(std::move(gradients));
  } catch (const std::exception& error) {
    return unavailable(std::string("no memory for the gradients' queues: ") + error.what());
  }
}

void ProgressLoop::begin_settling() {
  settling_ = true;
  transport_.settle();
}

bool ProgressLoop::stop(Clock::time_point deadline, Clock::time_point patience) {
  if (!thread_.joinable()) return true;
  if (!stopping_.load()) {
    stop_deadline_ = deadline;
    stopping_.store(true);
    requests_.wake();
  }
  if (!waiters_.wait_for_end(patience)) {
    failures_.fail(aborted("the session was closed"));
    return false;
  }
  thread_.join();
  return true;
}

void ProgressLoop::run() {
  record_.begin_counting_allocations();
  try {
    while (!stopping_.load() && !failures_.failing()) {
      if (!round()) sleep();
    }
  } catch (const std::exception& error) {
    failures_.report(internal_error(std::string("the progress thread met an exception: ") + error.what()));
  }
  shut_down();
}

/// Everything once; false when there was nothing to do.
bool ProgressLoop::round() {
  bool busy = take_requests();
  busy |= parts_.computing.take_ended();
  busy |= transport_.progress();
  busy |= parts_.computing.run_ready();
  busy |= parts_.links.flush();
  if (settling_) check_settled();
  record_.count_allocations();
  if (parts_.steps.take_announcement()) announce();
  return busy;
}

bool ProgressLoop::take_requests() {
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
  parts_.bundles.begin_all(starting_);
  const bool any = !calls.empty() || !starting_.empty();
  if (any) {
    parts_.left.check();
    parts_.comparisons.check();
  }
  starting_.clear();
  return any;
}

void ProgressLoop::check_settled() {
  if (!transport_.settled() || !parts_.links.idle()) return;
  settling_ = false;
  waiters_.settle();
}

void ProgressLoop::announce() { waiters_.announce(stats()); }

/// Messages of rounds count as messages.
TransportStats ProgressLoop::stats() const {
  TransportStats all = transport_.stats();
  const DeviceRounds* const rounds = parts_.computing.rounds();
  if (rounds == nullptr) return all;
  const TransportStats more = rounds->stats();
  all.messages_sent += more.messages_sent;
  all.messages_received += more.messages_received;
  all.payload_bytes_sent += more.payload_bytes_sent;
  all.payload_bytes_received += more.payload_bytes_received;
  all.wire_bytes_sent += more.wire_bytes_sent;
  all.wire_bytes_received += more.wire_bytes_received;
  return all;
}

void ProgressLoop::sleep() {
  const Clock::time_point looked = Clock::now();
  parts_.asynchronous.waits().say(looked);
  parts_.missing.watch(looked);
  const Clock::time_point from = Clock::now();
  const Clock::time_point latest = from + std::chrono::duration_cast<Clock::duration>(kLongestSleep);
  transport_.wait(parts_.computing.due(from, std::min(latest, parts_.links.due())));
  record_.slept(from);
}

/// Ends everything. No thread may be left waiting, whatever is thrown on the way.
void ProgressLoop::shut_down() {
  const auto attempt = [](auto step) {
    try {
      step();
    } catch (const std::exception& error) {
      log().error("while the session ended: {}", error.what());
    }
  };
  const bool in_order = waiters_.close();
  bool rounds_ended = false, tasks_ended = false, let_go = false;  // a part that throws may still write
  attempt([&] { rounds_ended = parts_.computing.end_rounds(in_order, stop_deadline_); });
  // Streams still read and write callers' memory: nobody hears of the end earlier.
  attempt([&] { tasks_ended = parts_.computing.come_to_rest(); });
  attempt([&] { answer_the_last(); });
  TransportStats moved;
  attempt([&] { moved = stats(); });
  attempt([&] { let_go = transport_.close(stopping_.load() ? stop_deadline_ : after(kLetGo)); });
  std::string unsettled;
  if (!let_go) unsettled = "the network has not confirmed that it stopped writing";
  if (!rounds_ended || !tasks_ended) unsettled = "the device has not ended its work";
  if (!unsettled.empty()) attempt([&] { parts_.keep_memory(); });
  waiters_.end(moved, unsettled);
}

/// Answers the last questions. Nothing can be posted afterwards, so no thread waits for an answer that never comes.
void ProgressLoop::answer_the_last() {
  for (const Requests::Call& call : requests_.end()) {
    try {
      call();
    } catch (const std::exception&) {  // whoever asked learns of the failure
    }
  }
}

}  // namespace casync::runtime
