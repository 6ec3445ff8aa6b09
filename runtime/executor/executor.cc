// SPDX-License-Identifier: Apache-2.0
//
// The calls of other threads. The progress thread's round is in executor_loop.cc, its tasks in executor_tasks.cc, its
// messages in executor_messages.cc.
#include "runtime/executor/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "base/check.h"
#include "base/thread.h"

namespace casync::runtime {
namespace {

// Time for which another thread waits for the progress thread to say what is missing.
constexpr Seconds kAnswerTime{0.5};

// Time for which a caller that waits for a gradient looks before it sleeps: a small one is there by then, and waking up
// would take a tenth of its time. Whoever else wants the core gets it.
constexpr std::chrono::microseconds kPollTime{100};

// Interval at which a destructor that waits for tasks looks again.
constexpr Seconds kRestTime{60};

// Time for which adopt() waits for the progress thread to take gradients in.
constexpr Seconds kAdoptTime{60};

}  // namespace

Executor::Executor(const ExecutorOptions& options, std::unique_ptr<Transport> transport, Device& device)
    : options_(options),
      transport_(std::move(transport)),
      device_(device),
      arena_(device),
      links_(options_, *transport_, [this](const ReadyTask& ready) { return outgoing(ready); }),
      stalls_(options.stall),
      requests_(*transport_, waiters_),
      streams_(
          *transport_,
          [this](GradientRun& run, TaskId task, Scratch& scratch) {
            // After a failure nobody takes the result, and the callers wait for their memory.
            return failing() ? TaskOutcome{} : compute(run, task, scratch);
          },
          counters_.allocations),
      asynchronous_(options_, *transport_, *this),
      bundles_(options_, device_, *transport_, arena_, waiters_, *this) {}

Executor::~Executor() {
  const Clock::time_point now = Clock::now();
  while (!stop(now, after(kRestTime))) {
  }
}

Status Executor::connect(std::span<const std::string> addresses, ExecutorEvents events) {
  events_ = std::move(events);
  CASYNC_RETURN_IF_ERROR(open_device());
  if (device_.is_host()) CASYNC_RETURN_IF_ERROR(streams_.open(options_.streams));
  CASYNC_RETURN_IF_ERROR(transport_->connect(addresses, *this));
  description_ = transport_->description();
  if (rounds_ != nullptr) description_ = rounds_->description() + ", beside " + description_;
  Result<std::thread> thread = start_thread("casync-progress", [this] { progress_loop(); });
  if (!thread) return thread.status();
  progress_ = std::move(*thread);
  progress_clock_.emplace(progress_);
  return Status::ok();
}

Status Executor::open_rounds(Bytes bucket_bytes, const DeviceRounds::Open& open) {
  CASYNC_CHECK(!device_.is_host());
  rounds_ = std::make_unique<DeviceRounds>(device_, DeviceRounds::Settings{options_.seed, options_.scale, bucket_bytes},
                                           *transport_);
  return rounds_->open(open);
}

Status Executor::adopt(std::vector<std::unique_ptr<GradientRun>> runs) {
  const auto shared = std::make_shared<std::vector<std::unique_ptr<GradientRun>>>(std::move(runs));
  const auto status = requests_.ask<Status>([this, shared] { return take_in(std::move(*shared)); }, kAdoptTime);
  if (status) return *status;
  return failing() ? failure() : timeout_error("the progress thread has not taken the gradients in");
}

Status Executor::take_in(std::vector<std::unique_ptr<GradientRun>> runs) {
  announce_ = true;
  try {
    return failing() ? failure() : make_room(runs);
  } catch (const std::exception& error) {
    return unavailable(std::string("no memory for the gradients' queues: ") + error.what());
  }
}

void Executor::call(std::function<void()> call) {
  static_cast<void>(requests_.post([this, call = std::move(call)] {
    if (!failing()) call();
  }));
}

Status Executor::wait(GradientRun& run, std::uint32_t step, Clock::time_point deadline) {
  const auto completed = [&] { return run.completed.load(std::memory_order_acquire) > step; };
  if (completed()) return Status::ok();
  for (const auto until = std::min(deadline, Clock::now() + kPollTime); !completed() && Clock::now() < until;) {
    std::this_thread::yield();
  }
  const std::optional<Status> over = waiters_.wait_until(completed, deadline);
  if (completed()) return Status::ok();
  if (over) return *over;
  const auto lacks = requests_.ask<std::string>([this, &run] { return missing(run); }, kAnswerTime);
  if (!lacks && failing()) return failure();
  return timeout_error(lacks.value_or("the progress thread is busy with a task, and does not say what is missing"));
}

Status Executor::wait_any(std::span<const Awaited> awaited, Clock::time_point deadline,
                          const std::function<bool()>& interrupted) {
  const auto any = [&] {
    return std::any_of(awaited.begin(), awaited.end(), [](const Awaited& one) {
      return one.run != nullptr && one.run->completed.load(std::memory_order_acquire) > one.step;
    });
  };
  const std::optional<Status> over = waiters_.wait_until([&] { return interrupted() || any(); }, deadline);
  if (interrupted() || any()) return Status::ok();
  return over.value_or(timeout_error("none of " + std::to_string(awaited.size()) + " is done"));
}

bool Executor::knows_who_is_late(const GradientRun& run) {
  return requests_.ask<bool>([this, &run] { return lacks_contribution(run); }, kAnswerTime).value_or(true);
}

Status Executor::wait_until(const std::function<bool()>& ready, Clock::time_point deadline) const {
  return waiters_.wait_until(ready, deadline).value_or(timeout_error("not ready in time"));
}

Status Executor::wait_all(Clock::time_point deadline) {
  const std::optional<Status> over = waiters_.wait_until([&] { return idle(); }, deadline);
  return over ? *over : timeout_error(std::to_string(active()) + " gradients are under way");
}

void Executor::peer_left(Leaver leaver) {
  static_cast<void>(requests_.post([this, leaver = std::move(leaver)] { leavers_.push_back(leaver); }));
}

Status Executor::settle(Clock::time_point deadline) {
  const bool posted = requests_.post([this] {
    settling_ = true;
    transport_->settle();
  });
  if (!posted) return failure();
  return waiters_.wait_until([&] { return waiters_.is_settled(); }, deadline)
      .value_or(timeout_error("the other ranks have not confirmed that everything has arrived"));
}

Status Executor::serve_others(std::uint32_t steps, Seconds patience) {
  if (!requests_.post([this, steps] { asynchronous_.end_own(steps); })) return failure();
  while (true) {
    const std::uint64_t seen = asynchronous_.others_went_on();
    const auto over = waiters_.wait_until([this] { return asynchronous_.all_ended(); }, after(patience));
    if (over) return *over;
    if (asynchronous_.others_went_on() != seen) continue;
    const auto late = requests_.ask<std::string>([this] { return asynchronous_.ranks_under_way(); }, patience);
    return timeout_error(fmt::format("no rank has gone on for {} s after this rank had ended its steps, and {} not",
                                     patience.count(), late.value_or("other ranks have")));
  }
}

void Executor::want_comparison(std::uint32_t steps) {
  if (rounds_ != nullptr) static_cast<void>(requests_.post([this] { rounds_->forget_step(); }));
  if (comparison_wanted_.exchange(true)) return;
  // The first comparison needs no notice: no rank goes on without it.
  const std::uint64_t next = comparisons() + 1;
  if (next > 1) static_cast<void>(requests_.post([this, next, steps] { send_notices(next, steps); }));
}

void Executor::end_comparison() {
  comparisons_.fetch_add(1);
  comparison_wanted_.store(false);
}

void Executor::fail(Status cause) {
  if (waiters_.fail(std::move(cause))) requests_.wake();
}

Status Executor::wait_for_end(Clock::time_point deadline) const {
  const bool ended = waiters_.wait_for_end(deadline);
  Status cause = failure();
  if (ended) return cause;
  return {cause.code(),
          cause.message() + "; a task that was begun has not ended yet: the gradients' memory is " + "still in use"};
}

bool Executor::stop(Clock::time_point deadline, Clock::time_point patience) {
  if (!progress_.joinable()) return true;
  if (!stopping_.load()) {
    stop_deadline_ = deadline;
    stopping_.store(true);
    requests_.wake();
  }
  if (!waiters_.wait_for_end(patience)) {
    fail(aborted("the session was closed"));
    return false;
  }
  progress_.join();
  streams_.close();
  return true;
}

/// Memory for the messages of these runs, and room in the queues for their tasks.
Status Executor::make_queues(std::span<GradientRun* const> runs) {
  std::vector<const TaskGraph*> graphs;
  std::vector<const GradientRun*> of_graph;
  for (const GradientRun* run : runs) {
    if (run->borrows_slots) continue;
    graphs.push_back(&run->graph);
    of_graph.push_back(run);
  }
  CASYNC_RETURN_IF_ERROR(arena_.add(lay_out(graphs, [&](std::size_t which, const Buffer& buffer) -> Bytes {
    const GradientRun& run = *of_graph[which];
    const auto id = BufferId(static_cast<std::uint32_t>(&buffer - run.graph.buffers().data()));
    return run.in_place(id) ? 0 : run.bound_of(id);
  })));
  std::size_t tasks = 0;
  for (const GradientRun* run : runs) {
    reserve_scratch(*run, options_.ranks, scratch_);
    streams_.reserve(*run, options_.ranks);
    tasks += run->graph.tasks().size() + (run->rounds ? 1 : 0);
  }
  if (device_.is_host()) streams_.prepare(runs);
  compute_.reserve(tasks);
  instant_.reserve(instant_.capacity() + tasks);
  links_.reserve(runs);
  return Status::ok();
}

Status Executor::make_room(std::vector<std::unique_ptr<GradientRun>>& runs) {
  std::vector<GradientRun*> all;
  for (const std::unique_ptr<GradientRun>& run : runs) {
    run->for_each([&](GradientRun& one) { all.push_back(&one); });
  }
  for (const GradientRun* run : all) {
    if (by_key_.contains(run->key)) {
      return invalid_argument("gradient " + run->spec.name + " has the same 64-bit hash as another: rename it");
    }
  }
  std::vector<std::unique_ptr<GradientRun>> bundles;
  if (rounds_ == nullptr) bundles = bundles_.make(all);
  for (const std::unique_ptr<GradientRun>& bundle : bundles) all.push_back(bundle.get());
  if (rounds_ != nullptr) {
    CASYNC_RETURN_IF_ERROR(rounds_->take_in(all));
  } else if (device_tasks_ != nullptr) {
    for (GradientRun* run : all) run->move_to_device();
    CASYNC_RETURN_IF_ERROR(device_tasks_->take_in(all, [this] { rest_device(); }));
  }
  if (rounds_ == nullptr) CASYNC_RETURN_IF_ERROR(make_queues(all));
  // Every gradient at once, in both of the lists that take turns.
  requests_.reserve(runs_.size() + runs.size());
  starting_.reserve(runs_.size() + runs.size());
  for (GradientRun* run : all) {
    run->index = static_cast<std::uint32_t>(by_index_.size());
    by_index_.push_back(run);
    by_key_.emplace(run->key, run);
    if (run->asynchronous) asynchronous_.take_in(*run);
  }
  for (std::unique_ptr<GradientRun>& run : runs) runs_.push_back(std::move(run));
  bundles_.take_in(std::move(bundles));
  return Status::ok();
}

}  // namespace casync::runtime
