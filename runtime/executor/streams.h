// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "runtime/device/work_queue.h"
#include "runtime/executor/ready_queue.h"
#include "runtime/executor/task_runner.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// The threads of the host besides the progress thread, and the tasks on their way through them. The progress thread
/// begins tasks and takes those that have ended; a thread that ends one wakes the transport.
class Streams {
 public:
  /// Carries a task out, on one of the threads. An exception is Internal.
  using Compute = std::function<TaskOutcome(GradientRun&, TaskId, Scratch&)>;
  /// Borrows all but `compute`. `allocations` counts those of the threads in tasks.
  Streams(Transport& transport, Compute compute, std::atomic<std::uint64_t>& allocations);

  /// Starts so many threads. Unavailable: no thread left.
  Status open(int count);
  bool empty() const { return slots_.empty(); }
  /// Makes room for every task of `run`.
  void reserve(const GradientRun& run, int ranks);
  /// Lets every thread, the calling one included, take the memory that the codecs of `runs` keep, so that no later step
  /// is a thread's first. std::bad_alloc: a thread has none.
  void prepare(std::span<GradientRun* const> runs);

  /// Returns true if a task may begin.
  bool has_room() const { return !free_.empty(); }
  /// Begins the task, whose buffers have their memory, on the thread with the fewest tasks. While there is room.
  void begin(const ReadyTask& ready);

  struct Ended {
    GradientRun* run = nullptr;
    TaskId task{};
    TaskOutcome outcome;
    Clock::time_point from;  ///< when the thread began
    std::uint32_t lane = 0;  ///< the thread's number, from 1
  };
  /// Calls visit(Ended) for each task that has ended. Returns false if there was none.
  template <class Visit>
  bool take_ended(Visit visit) {
    if (slots_.empty()) return false;
    take_finished();
    for (const std::uint32_t at : taken_) {
      Slot& slot = *slots_[at];
      free_.push_back(at);
      --begun_[slot.lane - 1];
      visit(Ended{slot.run, slot.task, std::move(slot.outcome), slot.from, slot.lane});
    }
    const bool any = !taken_.empty();
    taken_.clear();
    return any;
  }
  /// No task is under way.
  bool at_rest() const { return free_.size() == slots_.size(); }

  /// Processor seconds of the threads. Not after close().
  double processor_seconds() const;
  /// Ends the threads, which are at rest.
  void close() { threads_.clear(); }

 private:
  /// A task on its way.
  struct Slot {
    Streams* streams = nullptr;
    WorkQueue* thread = nullptr;
    std::uint32_t lane = 0;
    Scratch scratch;
    GradientRun* run = nullptr;
    TaskId task{};
    TaskOutcome outcome;
    Clock::time_point from;
  };
  static void run_task_of(void* slot, std::uint64_t at);
  void take_finished();
  std::uint32_t take_free();

  Transport& transport_;
  const Compute compute_;
  std::atomic<std::uint64_t>& allocations_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> begun_;  ///< of each thread: the tasks that have begun and are not taken yet
  std::mutex mutex_;
  std::vector<std::uint32_t> finished_;  ///< under mutex_
  std::vector<std::uint32_t> taken_;
  std::vector<std::unique_ptr<WorkQueue>> threads_;
};

}  // namespace casync::runtime
