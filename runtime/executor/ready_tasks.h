// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/executor/gradient_run.h"
#include "runtime/executor/links.h"
#include "runtime/executor/ready_queue.h"

namespace casync::runtime {

/// Tasks whose inputs are there: sends go to their links, and the others wait here for whatever computes. The progress
/// thread's.
class ReadyTasks {
 public:
  /// Borrows the links.
  explicit ReadyTasks(Links& links) : links_(links) {}

  /// Makes room for all tasks of these runs at once.
  void reserve(std::span<GradientRun* const> runs);

  /// A task of a step is ready. A Recv is not queued: it happens when its message comes.
  void push(GradientRun& run, TaskId task);
  /// The same of all tasks of `run` that wait for none.
  void push_first(GradientRun& run);
  /// A turn of a codec of rounds is ready, further along than all that the gradient did earlier.
  void push_turn(GradientRun& run);
  /// A batch of an owner's side is ready, or a part of one on a device.
  void push_batch(GradientRun& side, TaskId task);
  /// An answer of an owner's side is ready.
  void push_answer(Rank to, GradientRun& side, TaskId send);

  /// The tasks that are to be computed.
  ReadyQueue& to_compute() { return to_compute_; }
  /// Calls run(const ReadyTask&) for each task that moves no byte, one after the other and not one inside the other:
  /// each may make the next one ready. Returns false if there was none.
  template <class Run>
  bool run_instant(Run run) {
    if (instant_.empty()) return false;
    for (std::size_t i = 0; i < instant_.size(); ++i) {
      const ReadyTask ready = instant_[i];
      run(ready);
    }
    instant_.clear();
    return true;
  }

 private:
  Links& links_;
  ReadyQueue to_compute_;
  std::vector<ReadyTask> instant_;  ///< tasks that move no byte
  std::uint64_t arrivals_ = 0;
};

}  // namespace casync::runtime
