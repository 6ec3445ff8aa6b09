// SPDX-License-Identifier: Apache-2.0
//
// What other threads call, and the progress thread's round. Its tasks are in executor_tasks.cc, its messages in
// executor_messages.cc.
#include "runtime/executor/executor.h"

#include <pthread.h>

#include <algorithm>
#include <future>

#include "base/allocation_count.h"
#include "base/check.h"
#include "runtime/executor/stream_slot.h"

namespace casync::runtime {
namespace {

// Several pieces of work wait at each stream, so that it never waits for the progress thread to hand it the next.
constexpr std::size_t kSlotsPerStream = 3;

// How long a broken transport may take to let go of the callers' memory.
constexpr Seconds kLetGo{0.3};

// How long after a goodbye the peer's last messages may be on their way.
constexpr Seconds kLastWords{2};

// Wakes now and then although nothing happened: a bound on what a lost wake-up could cost, too rare to see.
constexpr Seconds kLongestSleep{0.5};

}  // namespace

Executor::Executor(const ExecutorOptions& options, std::unique_ptr<Transport> transport, Device& device)
    : options_(options),
      transport_(std::move(transport)),
      device_(device),
      arena_(device),
      links_(static_cast<std::size_t>(options.ranks)) {
  fused_.reserve(kMostFused);
  for (int i = 0; i < options.streams; ++i) streams_.push_back(device.make_stream("casync-" + std::to_string(i + 1)));
  for (std::size_t i = 0; i < streams_.size() * kSlotsPerStream; ++i) {
    slots_.push_back(std::make_unique<StreamSlot>());
    slots_.back()->executor = this;
    slots_.back()->stream = streams_[i % streams_.size()].get();
    slots_.back()->lane = static_cast<std::uint32_t>(i % streams_.size() + 1);
    free_slots_.push_back(static_cast<std::uint32_t>(i));
  }
  finished_.reserve(slots_.size());
  taken_outcomes_.reserve(slots_.size());
}

Executor::~Executor() { stop(Clock::now()); }

Status Executor::connect(std::span<const std::string> addresses, std::function<void(Rank, const Status&)> on_failure) {
  on_peer_failure_ = std::move(on_failure);
  CASYNC_RETURN_IF_ERROR(transport_->connect(addresses, *this));
  progress_ = std::thread([this] { progress_loop(); });
  pthread_setname_np(progress_.native_handle(), "casync-progress");
  return Status::ok();
}

Status Executor::adopt(std::vector<std::unique_ptr<GradientRun>> runs) {
  std::promise<Status> done;
  {
    std::lock_guard lock(post_mutex_);
    // Room for every gradient at once, so that a steady step's push never allocates.
    posted_.reserve(posted_.capacity() + runs.size());
    calls_.push_back([this, &runs, &done] { done.set_value(make_room(runs)); });
  }
  transport_->wake();
  return done.get_future().get();
}

void Executor::submit(std::span<const Start> starts) {
  active_.fetch_add(static_cast<int>(starts.size()));
  {
    std::lock_guard lock(post_mutex_);
    posted_.insert(posted_.end(), starts.begin(), starts.end());
  }
  transport_->wake();
}

Status Executor::wait(GradientRun& run, std::uint32_t step, Clock::time_point deadline) {
  const auto completed = [&] { return run.completed.load(std::memory_order_acquire) > step; };
  if (completed()) return Status::ok();
  const Clock::time_point from = Clock::now();
  std::unique_lock lock(wait_mutex_);
  const bool in_time = changed_.wait_until(lock, deadline, [&] { return completed() || announced_failure_; });
  run.exposed_s.store(run.exposed_s.load() + Seconds(Clock::now() - from).count());
  if (completed()) return Status::ok();
  if (announced_failure_) return failure_;
  CASYNC_CHECK(!in_time);
  lock.unlock();
  std::promise<std::string> answer;
  {
    std::lock_guard post(post_mutex_);
    calls_.push_back([&] { answer.set_value(missing(run)); });
  }
  transport_->wake();
  return timeout_error("gradient " + run.spec.name + ", step " + std::to_string(step) + ": not done after " +
                       std::to_string(Seconds(Clock::now() - from).count()) + " s: " + answer.get_future().get());
}

Status Executor::wait_all(Clock::time_point deadline) {
  std::unique_lock lock(wait_mutex_);
  const bool in_time = changed_.wait_until(lock, deadline, [&] { return active_.load() == 0 || announced_failure_; });
  if (announced_failure_) return failure_;
  if (in_time) return Status::ok();
  return timeout_error("the step is not done: " + std::to_string(active_.load()) + " gradients are under way");
}

void Executor::peer_left(Rank peer, const Status& why) {
  {
    std::lock_guard lock(post_mutex_);
    calls_.push_back([this, peer, why] {
      left_.emplace_back(peer, why);
      last_arrival_ = std::max(last_arrival_, Clock::now());
    });
  }
  transport_->wake();
}

void Executor::check_leavers() {
  if (active_.load() == 0 || Clock::now() - last_arrival_ < kLastWords) return;
  on_peer_failure_(left_.front().first, left_.front().second);
  left_.clear();
}

void Executor::fail(Status cause) {
  {
    std::lock_guard lock(wait_mutex_);
    if (!failure_.is_ok()) return;
    failure_ = std::move(cause);
  }
  failing_.store(true);
  transport_->wake();
}

Status Executor::failure() const {
  std::lock_guard lock(wait_mutex_);
  return failure_;
}

void Executor::stop(Clock::time_point deadline) {
  if (!progress_.joinable()) return;
  stop_deadline_ = deadline;
  stopping_.store(true);
  transport_->wake();
  progress_.join();
  streams_.clear();
}

TransportStats Executor::transport_stats() const {
  std::lock_guard lock(wait_mutex_);
  return last_stats_;
}

void Executor::progress_loop() {
  const std::uint64_t allocations_before = allocations_of_this_thread();
  while (!stopping_.load()) {
    bool busy = take_commands();
    if (failing_.load()) {
      shut_down_failed();
      while (!stopping_.load()) {  // questions are still answered
        take_commands();
        transport_->wait(after(kLongestSleep));
      }
      break;
    }
    busy |= take_outcomes();
    busy |= transport_->progress();
    busy |= run_ready_tasks();
    busy |= flush_links();
    if (!left_.empty()) check_leavers();
    counters_.allocations.store(allocations_of_this_thread() - allocations_before, std::memory_order_relaxed);
    if (announce_) announce();
    if (!busy) sleep();
  }
  bool failed_before = false;
  {
    std::lock_guard lock(wait_mutex_);
    failed_before = announced_failure_;
    if (failure_.is_ok()) failure_ = aborted("the session was closed");
  }
  failing_.store(true);
  if (!failed_before) {
    transport_->close(stop_deadline_);
    announce();
    std::lock_guard lock(wait_mutex_);
    announced_failure_ = true;
    changed_.notify_all();
  }
  take_commands();
}

void Executor::shut_down_failed() {
  // Streams may still read and write callers' memory: let them end before anybody hears of the failure.
  while (free_slots_.size() < slots_.size()) {
    if (!take_outcomes()) transport_->wait(after(Seconds(0.001)));
  }
  transport_->close(after(kLetGo));
  announce();
  std::lock_guard lock(wait_mutex_);
  announced_failure_ = true;
  active_.store(0);
  changed_.notify_all();
}

bool Executor::take_commands() {
  std::vector<std::function<void()>> calls;
  {
    std::lock_guard lock(post_mutex_);
    starting_.swap(posted_);
    calls.swap(calls_);
  }
  for (const std::function<void()>& call : calls) call();
  if (!failing_.load()) {
    for (const Start& one : starting_) begin(one);
    if (!starting_.empty()) transport_->retry_held();
  }
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
  Seconds longest = kLongestSleep;
  for (const PeerLink& link : links_) {
    if (!link.ready.empty()) longest = PeerLink::kStall;  // a closed window opens by itself after a while
  }
  transport_->wait(from + std::chrono::duration_cast<Clock::duration>(longest));
  const double slept = Seconds(Clock::now() - from).count();
  counters_.idle_s.store(counters_.idle_s.load(std::memory_order_relaxed) + slept, std::memory_order_relaxed);
}

Status Executor::make_room(std::vector<std::unique_ptr<GradientRun>>& runs) {
  std::vector<const TaskGraph*> graphs;
  for (const std::unique_ptr<GradientRun>& run : runs) graphs.push_back(&run->graph);
  CASYNC_RETURN_IF_ERROR(arena_.add(lay_out(graphs, [&](std::size_t which, const Buffer& buffer) -> Bytes {
    const GradientRun& run = *runs[which];
    const auto id = BufferId(static_cast<std::uint32_t>(&buffer - run.graph.buffers().data()));
    return run.in_place(id) ? 0 : run.codec(buffer.hop).encoded_bound(buffer.slice.count);
  })));
  std::size_t tasks = 0;
  for (const std::unique_ptr<GradientRun>& run : runs) {
    reserve_scratch(*run, options_.ranks, scratch_);
    for (const std::unique_ptr<StreamSlot>& slot : slots_) reserve_scratch(*run, options_.ranks, slot->scratch);
    tasks += run->graph.tasks().size();
  }
  compute_.reserve(tasks);
  for (PeerLink& link : links_) link.ready.reserve(tasks);
  starting_.reserve(starting_.capacity() + runs.size());
  for (std::unique_ptr<GradientRun>& run : runs) {
    CASYNC_CHECK(run->index == runs_.size());
    by_key_.emplace(run->key, run.get());
    runs_.push_back(std::move(run));
  }
  return Status::ok();
}

}  // namespace casync::runtime
