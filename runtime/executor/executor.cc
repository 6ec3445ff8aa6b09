// SPDX-License-Identifier: Apache-2.0
//
// The calls of other threads. The progress thread's round is in executor_loop.cc, its tasks in executor_tasks.cc, its
// messages in executor_messages.cc.
#include "runtime/executor/executor.h"

#include <algorithm>
#include <exception>
#include <future>
#include <latch>
#include <new>

#include "base/check.h"
#include "base/thread.h"
#include "casync/graph/fuse.h"
#include "runtime/executor/stream_slot.h"

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
      links_(static_cast<std::size_t>(options.ranks)) {
  fused_.reserve(kMostFused);
  busy_links_.reserve(links_.size());
  ended_at_.resize(links_.size(), kNotEnded);
  if (options.coordinated && options.rank == 0) coordinator_ = std::make_unique<LinkCoordinator>(options.ranks);
}

Executor::~Executor() {
  const Clock::time_point now = Clock::now();
  while (!stop(now, after(kRestTime))) {
  }
}

Status Executor::connect(std::span<const std::string> addresses, ExecutorEvents events) {
  events_ = std::move(events);
  CASYNC_RETURN_IF_ERROR(open_device());
  for (int i = 0; device_.is_host() && i < options_.streams; ++i) {
    Result<std::unique_ptr<WorkQueue>> stream = make_work_queue("casync-" + std::to_string(i + 1));
    if (!stream) return stream.status();
    streams_.push_back(std::move(*stream));
  }
  for (std::size_t i = 0; i < streams_.size() * kSlotsPerStream; ++i) {
    slots_.push_back(std::make_unique<StreamSlot>());
    slots_.back()->executor = this;
    slots_.back()->stream = streams_[i % streams_.size()].get();
    slots_.back()->lane = static_cast<std::uint32_t>(i % streams_.size() + 1);
    free_slots_.push_back(static_cast<std::uint32_t>(i));
  }
  finished_.reserve(slots_.size());
  taken_outcomes_.reserve(slots_.size());
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

bool Executor::post(std::function<void()> call) {
  std::lock_guard lock(post_mutex_);
  if (ended_) return false;
  calls_.push_back(std::move(call));
  transport_->wake();
  return true;
}

/// Wakes the transport under post_mutex_, like all other threads: once ended_, the transport must not be touched.
void Executor::wake() {
  std::lock_guard lock(post_mutex_);
  if (!ended_) transport_->wake();
}

template <class Answer>
std::optional<Answer> Executor::ask(std::function<Answer()> question, Seconds patience) {
  // Shared: the progress thread may come to it when nobody waits any more. Dropped unanswered, the promise breaks.
  const auto answer = std::make_shared<std::promise<Answer>>();
  std::future<Answer> future = answer->get_future();
  if (!post([answer = std::move(answer), question = std::move(question)] { answer->set_value(question()); })) return {};
  if (future.wait_for(patience) != std::future_status::ready) return {};
  try {
    return future.get();
  } catch (const std::exception&) {  // the progress thread has met it, too
    return {};
  }
}

Status Executor::adopt(std::vector<std::unique_ptr<GradientRun>> runs) {
  const auto shared = std::make_shared<std::vector<std::unique_ptr<GradientRun>>>(std::move(runs));
  const auto status = ask<Status>([this, shared] { return take_in(std::move(*shared)); }, kAdoptTime);
  if (status) return *status;
  return failing() ? failure() : timeout_error("the progress thread has not taken the gradients in");
}

Status Executor::take_in(std::vector<std::unique_ptr<GradientRun>> runs) {
  announce_ = true;
  try {
    return failing_.load() ? failure() : make_room(runs);
  } catch (const std::exception& error) {
    return unavailable(std::string("no memory for the gradients' queues: ") + error.what());
  }
}

void Executor::call(std::function<void()> call) {
  static_cast<void>(post([this, call = std::move(call)] {
    if (!failing_.load()) call();
  }));
}

void Executor::hold(int gradients) {
  std::lock_guard lock(post_mutex_);
  if (!ended_) active_.fetch_add(gradients);
}

void Executor::start_held(std::span<const Start> starts) {
  std::lock_guard lock(post_mutex_);
  if (ended_) return;
  posted_.insert(posted_.end(), starts.begin(), starts.end());
  transport_->wake();
}

void Executor::submit(std::span<const Start> starts) {
  std::lock_guard lock(post_mutex_);
  if (ended_) return;  // whoever waits for these hears of the failure
  active_.fetch_add(static_cast<int>(starts.size()));
  posted_.insert(posted_.end(), starts.begin(), starts.end());
  transport_->wake();
}

Status Executor::wait(GradientRun& run, std::uint32_t step, Clock::time_point deadline) {
  const auto completed = [&] { return run.completed.load(std::memory_order_acquire) > step; };
  if (completed()) return Status::ok();
  for (const auto until = std::min(deadline, Clock::now() + kPollTime); !completed() && Clock::now() < until;) {
    std::this_thread::yield();
  }
  std::unique_lock lock(wait_mutex_);
  changed_.wait_until(lock, deadline, [&] { return completed() || announced_failure_; });
  if (completed()) return Status::ok();
  if (announced_failure_) return failure_;
  lock.unlock();
  const auto lacks = ask<std::string>([this, &run] { return missing(run); }, kAnswerTime);
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
  std::unique_lock lock(wait_mutex_);
  changed_.wait_until(lock, deadline, [&] { return interrupted() || announced_failure_ || any(); });
  if (interrupted() || any()) return Status::ok();
  return announced_failure_ ? failure_ : timeout_error("none of " + std::to_string(awaited.size()) + " is done");
}

void Executor::nudge() {
  std::lock_guard lock(wait_mutex_);  // a waiter that has looked already sleeps by now, and hears it
  changed_.notify_all();
}

bool Executor::knows_who_is_late(const GradientRun& run) {
  return ask<bool>([this, &run] { return lacks_contribution(run); }, kAnswerTime).value_or(true);
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

void Executor::peer_left(Leaver leaver) {
  static_cast<void>(post([this, leaver = std::move(leaver)] { leavers_.push_back(leaver); }));
}

Status Executor::settle(Clock::time_point deadline) {
  const bool posted = post([this] {
    settling_ = true;
    transport_->settle();
  });
  if (!posted) return failure();
  std::unique_lock lock(wait_mutex_);
  changed_.wait_until(lock, deadline, [&] { return settled_ || announced_failure_; });
  if (announced_failure_) return failure_;
  return settled_ ? Status::ok() : timeout_error("the other ranks have not confirmed that everything has arrived");
}

void Executor::want_comparison(std::uint32_t steps) {
  if (rounds_ != nullptr) static_cast<void>(post([this] { rounds_->forget_step(); }));
  if (comparison_wanted_.exchange(true)) return;
  // The first comparison needs no notice: no rank goes on without it.
  const std::uint64_t next = comparisons() + 1;
  if (next > 1) static_cast<void>(post([this, next, steps] { send_notices(next, steps); }));
}

void Executor::end_comparison() {
  comparisons_.fetch_add(1);
  comparison_wanted_.store(false);
}

void Executor::fail(Status cause) {
  {
    std::lock_guard lock(wait_mutex_);
    if (!failure_.is_ok()) return;
    failure_ = std::move(cause);
  }
  failing_.store(true);
  wake();
}

Status Executor::failure() const {
  std::lock_guard lock(wait_mutex_);
  return failure_;
}

Status Executor::wait_for_end(Clock::time_point deadline) const {
  std::unique_lock lock(wait_mutex_);
  if (changed_.wait_until(lock, deadline, [&] { return announced_failure_; })) return failure_;
  return {failure_.code(),
          failure_.message() + "; a task that was begun has not ended yet: the gradients' memory is " + "still in use"};
}

bool Executor::stop(Clock::time_point deadline, Clock::time_point patience) {
  if (!progress_.joinable()) return true;
  if (!stopping_.load()) {
    stop_deadline_ = deadline;
    stopping_.store(true);
    wake();
  }
  {
    std::unique_lock lock(wait_mutex_);
    if (!changed_.wait_until(lock, patience, [&] { return announced_failure_; })) {
      lock.unlock();
      fail(aborted("the session was closed"));
      return false;
    }
  }
  progress_.join();
  streams_.clear();
  return true;
}

TransportStats Executor::transport_stats() const {
  std::lock_guard lock(wait_mutex_);
  return last_stats_;
}

double Executor::processor_seconds() const {
  double seconds = progress_clock_->seconds();
  for (const std::unique_ptr<WorkQueue>& stream : streams_) seconds += stream->processor_seconds();
  return seconds;
}

/// Every thread that computes takes the memory that its codecs keep, so that no later step is a thread's first.
void Executor::prepare_threads(std::span<GradientRun* const> runs) {
  struct Preparation {
    std::span<GradientRun* const> runs;
    std::latch streams_left;
    std::atomic<bool> failed = false;
    void prepare() {
      for (const GradientRun* run : runs) {
        if (run->rounds) run->rounds->codec->prepare_thread();
        for (Hop hop : {Hop::kFirst, Hop::kSecond, Hop::kRaw, Hop::kSum}) run->codec(hop).prepare_thread();
      }
    }
  } all{runs, std::latch(static_cast<std::ptrdiff_t>(streams_.size()))};
  const auto on_stream = [](void* context, std::uint64_t) {
    auto& preparation = *static_cast<Preparation*>(context);
    try {
      preparation.prepare();
    } catch (const std::bad_alloc&) {
      preparation.failed = true;
    }
    preparation.streams_left.count_down();
  };
  for (const std::unique_ptr<WorkQueue>& stream : streams_) {
    CASYNC_CHECK(stream->enqueue({on_stream, &all, 0}));  // tasks leave room: kSlotsPerStream
  }
  all.streams_left.wait();
  if (all.failed) throw std::bad_alloc();
  all.prepare();
}

/// Room for each link's own sends. Links that no graph uses take none.
void Executor::reserve_links(std::span<GradientRun* const> runs) {
  std::vector<std::size_t> sends(links_.size());
  for (const GradientRun* run : runs) {
    for (const Primitive& task : run->graph.tasks()) {
      if (const Send* send = std::get_if<Send>(&task)) ++sends[static_cast<std::size_t>(send->to)];
    }
  }
  for (std::size_t peer = 0; peer < links_.size(); ++peer) links_[peer].ready.reserve(sends[peer]);
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
    for (const std::unique_ptr<StreamSlot>& slot : slots_) reserve_scratch(*run, options_.ranks, slot->scratch);
    tasks += run->graph.tasks().size() + (run->rounds ? 1 : 0);
  }
  if (device_.is_host()) prepare_threads(runs);
  compute_.reserve(tasks);
  instant_.reserve(instant_.capacity() + tasks);
  reserve_links(runs);
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
  std::vector<std::unique_ptr<GradientRun>> bundles = bundle_small(all);
  for (const std::unique_ptr<GradientRun>& bundle : bundles) all.push_back(bundle.get());
  if (rounds_ != nullptr) {
    CASYNC_RETURN_IF_ERROR(rounds_->take_in(all));
  } else if (device_tasks_ != nullptr) {
    for (GradientRun* run : all) run->move_to_device();
    CASYNC_RETURN_IF_ERROR(device_tasks_->take_in(all, [this] { rest_device(); }));
  }
  if (rounds_ == nullptr) CASYNC_RETURN_IF_ERROR(make_queues(all));
  {
    // Every gradient at once, in both of the lists that take turns: a steady step's push never allocates.
    std::lock_guard lock(post_mutex_);
    posted_.reserve(runs_.size() + runs.size());
    starting_.reserve(runs_.size() + runs.size());
  }
  for (GradientRun* run : all) {
    run->index = static_cast<std::uint32_t>(by_index_.size());
    by_index_.push_back(run);
    by_key_.emplace(run->key, run);
    if (run->answering) end_ended(*run);
  }
  for (std::unique_ptr<GradientRun>& run : runs) runs_.push_back(std::move(run));
  for (std::unique_ptr<GradientRun>& bundle : bundles) bundles_.push_back(std::move(bundle));
  offered_.reserve(bundles_.size());
  return Status::ok();
}

}  // namespace casync::runtime
