// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/streams.h"

#include <cstddef>
#include <exception>
#include <latch>
#include <new>
#include <string>
#include <utility>

#include "base/allocation_count.h"
#include "base/check.h"

namespace casync::runtime {
namespace {

/// Several pieces of work wait at each thread, so that it never waits for the progress thread to hand it the next.
constexpr std::size_t kSlotsPerThread = 3;

void prepare_this_thread(std::span<GradientRun* const> runs) {
  for (const GradientRun* run : runs) {
    if (run->rounds) run->rounds->codec->prepare_thread();
    for (const Hop hop : {Hop::kFirst, Hop::kSecond, Hop::kRaw, Hop::kSum}) run->codec(hop).prepare_thread();
  }
}

/// prepare_this_thread() on other threads.
struct Preparation {
  std::span<GradientRun* const> runs;
  std::latch threads_left;
  std::atomic<bool> failed = false;

  static void run(void* context, std::uint64_t) {
    auto& self = *static_cast<Preparation*>(context);
    try {
      prepare_this_thread(self.runs);
    } catch (const std::bad_alloc&) {
      self.failed = true;
    }
    self.threads_left.count_down();
  }
};

}  // namespace

Streams::Streams(Transport& transport, Compute compute, std::atomic<std::uint64_t>& allocations)
    : transport_(transport), compute_(std::move(compute)), allocations_(allocations) {}

Status Streams::open(int count) {
  for (int i = 0; i < count; ++i) {
    Result<std::unique_ptr<WorkQueue>> thread = make_work_queue("casync-" + std::to_string(i + 1));
    if (!thread) return thread.status();
    threads_.push_back(std::move(*thread));
  }
  for (std::size_t i = 0; i < threads_.size() * kSlotsPerThread; ++i) {
    slots_.push_back(std::make_unique<Slot>());
    slots_.back()->streams = this;
    slots_.back()->thread = threads_[i % threads_.size()].get();
    slots_.back()->lane = static_cast<std::uint32_t>(i % threads_.size() + 1);
    free_.push_back(static_cast<std::uint32_t>(i));
  }
  begun_.assign(threads_.size(), 0);
  finished_.reserve(slots_.size());
  taken_.reserve(slots_.size());
  return Status::ok();
}

void Streams::reserve(const GradientRun& run, int ranks) {
  for (const std::unique_ptr<Slot>& slot : slots_) reserve_scratch(run, ranks, slot->scratch);
}

void Streams::prepare(std::span<GradientRun* const> runs) {
  Preparation all{runs, std::latch(static_cast<std::ptrdiff_t>(threads_.size()))};
  for (const std::unique_ptr<WorkQueue>& thread : threads_) {
    CASYNC_CHECK(thread->enqueue({Preparation::run, &all, 0}));  // tasks leave room: kSlotsPerThread
  }
  // No deadline: a task that is being computed ends first, and until then the program's question to this thread has the
  // session's limit, as has its wait for the end of all work if that task never ends.
  all.threads_left.wait();
  if (all.failed) throw std::bad_alloc();
  prepare_this_thread(runs);
}

/// Takes a slot of a thread with the fewest tasks, the one that became free last. A slot belongs to its thread: in any
/// other order large tasks would wait for one another while a thread has none.
std::uint32_t Streams::take_free() {
  const auto begun = [&](std::size_t i) { return begun_[slots_[free_[i]]->lane - 1]; };
  std::size_t best = free_.size() - 1;
  for (std::size_t i = best; i-- > 0;) {
    if (begun(i) < begun(best)) best = i;
  }
  const std::uint32_t at = free_[best];
  free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(best));
  ++begun_[slots_[at]->lane - 1];
  return at;
}

void Streams::begin(const ReadyTask& ready) {
  const std::uint32_t at = take_free();
  Slot& slot = *slots_[at];
  slot.run = ready.run;
  slot.task = ready.task;
  CASYNC_CHECK(slot.thread->enqueue({run_task_of, &slot, at}));  // fewer slots than a queue is deep
}

void Streams::run_task_of(void* context, std::uint64_t at) {
  Slot& slot = *static_cast<Slot*>(context);
  Streams& self = *slot.streams;
  const std::uint64_t allocations = allocations_of_this_thread();
  slot.from = Clock::now();
  try {
    slot.outcome = self.compute_(*slot.run, slot.task, slot.scratch);
  } catch (const std::exception& error) {
    slot.outcome = {internal_error(std::string("a stream met an exception: ") + error.what())};
  }
  self.allocations_.fetch_add(allocations_of_this_thread() - allocations, std::memory_order_relaxed);
  const std::lock_guard lock(self.mutex_);
  self.finished_.push_back(static_cast<std::uint32_t>(at));
  self.transport_.wake();  // inside the lock: once the slot is seen to be free the transport may be closed
}

void Streams::take_finished() {
  const std::lock_guard lock(mutex_);
  taken_.swap(finished_);
}

double Streams::processor_seconds() const {
  double seconds = 0;
  for (const std::unique_ptr<WorkQueue>& thread : threads_) seconds += thread->processor_seconds();
  return seconds;
}

}  // namespace casync::runtime
