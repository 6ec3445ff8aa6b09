// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include "base/view.h"
#include "runtime/executor/arena.h"
#include "runtime/executor/failures.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/executor/ready_tasks.h"
#include "runtime/executor/requests.h"
#include "runtime/executor/task_runner.h"
#include "runtime/executor/waiters.h"
#include "runtime/executor/work_record.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

class AsynchronousRanks;
class Bundles;
class Computing;
class MissingWork;

/// Takes each gradient's step from task to task: begins it, queues and frees what the end of a task sets free, and ends
/// it. The progress thread's.
class GradientSteps {
 public:
  /// Borrows all of these.
  GradientSteps(Transport& transport, Arena& arena, ReadyTasks& ready, Computing& computing,
                AsynchronousRanks& asynchronous, Bundles& bundles, MissingWork& missing, Waiters& waiters,
                Failures& failures, WorkRecord& record);

  void begin(const GradientStart& start);

  /// Gives memory to a buffer that has none.
  void give_memory(GradientRun& run, BufferId buffer);
  /// The same for the payload that a task makes.
  void prepare(GradientRun& run, TaskId task);
  /// An Encode or Decode that moves no byte.
  void run_instant(GradientRun& run, TaskId task);
  /// A task that has been computed since `from` is over, with this outcome. Returns the time. `lane`: as Span.
  Clock::time_point finish(GradientRun& run, TaskId task, TaskOutcome outcome, Clock::time_point from,
                           std::uint32_t lane);
  /// A task of a step is done, and its outcome is known.
  void complete(GradientRun& run, TaskId task);
  void finish_gradient(GradientRun& run);

  /// Lets all waiters look again, at the end of this round.
  void announce_soon() { announce_ = true; }
  /// Returns true if that has been asked for since the last call.
  bool take_announcement() { return std::exchange(announce_, false); }

 private:
  static void mark_not_finite(GradientRun& run, BufferId decoded);
  static BufferId take_over(GradientRun& run, TaskId task, const TaskOutcome& outcome);
  void release(GradientRun& run, BufferId buffer);
  void finish_inner(const GradientRun& run);
  Clock::time_point finish_turn(GradientRun& run, const TaskOutcome& outcome, Clock::time_point from,
                                std::uint32_t lane);

  Transport& transport_;
  Arena& arena_;
  ReadyTasks& ready_;
  Computing& computing_;
  AsynchronousRanks& asynchronous_;
  Bundles& bundles_;
  MissingWork& missing_;
  Waiters& waiters_;
  Failures& failures_;
  WorkRecord& record_;
  bool announce_ = false;
};

}  // namespace casync::runtime
