// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/executor/answer_steps.h"
#include "runtime/executor/answer_waits.h"
#include "runtime/executor/ended_ranks.h"
#include "runtime/executor/executor_options.h"
#include "runtime/executor/failures.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/executor/gradient_steps.h"
#include "runtime/executor/ready_tasks.h"
#include "runtime/executor/work_record.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// The gradients of asynchronous ranks: contributions come from any rank in any step to their owners, and each rank is
/// answered by itself (AnswerSteps). A rank that has ended its steps goes on answering until all have.
///
/// Threads: the progress thread's, unless a comment says otherwise.
class AsynchronousRanks {
 public:
  /// Borrows all of these.
  AsynchronousRanks(const ExecutorOptions& options, Transport& transport, ReadyTasks& ready, GradientSteps& steps,
                    Failures& failures, WorkRecord& record);

  /// Takes in a run of asynchronous ranks. Its owner's side learns which ranks have ended their steps; if this rank
  /// has, it answers from now on.
  void take_in(GradientRun& run);
  bool empty() const { return runs_.empty(); }

  /// A step of this rank has begun: contributes to its own partitions; a dedicated server asks the other owners.
  void begin(GradientRun& run);
  /// Ends the job where a consensus would need a rank that has ended its steps.
  void check_consensus();

  // As AnswerSteps'.
  bool begin_levelling(GradientRun& side) { return answers_.begin_levelling(side); }
  void take_contribution(GradientRun& side, Rank from, const Message& message) {
    waits_.note_other();
    answers_.take(side, from, message);
  }
  Clock::time_point finish_task(GradientRun& side, TaskId task, const TaskOutcome& outcome, Clock::time_point from,
                                std::uint32_t lane) {
    return answers_.finish(side, task, outcome, from, lane);
  }
  void answer_left(GradientRun& side, TaskId task, const Send& send, Bytes bytes) {
    answers_.left(side, task, send, bytes);
  }

  /// Takes a word of another rank. Returns false if the message is none.
  bool take_word(Rank from, const Message& message);
  /// A rank has ended its steps, so many: nobody waits for it any more.
  void end_rank(Rank rank, std::uint32_t steps);
  /// The same of this rank, which says so to all others, and answers them from now on.
  void end_own(std::uint32_t steps);
  /// Any thread may call are_all() of it.
  const EndedRanks& ended() const { return ended_; }
  AnswerWaits& waits() { return waits_; }
  const AnswerWaits& waits() const { return waits_; }

 private:
  template <class Visit>
  void for_each_side(Visit visit) const;

  const ExecutorOptions& options_;
  Transport& transport_;
  GradientSteps& steps_;
  Failures& failures_;
  std::vector<GradientRun*> runs_;
  EndedRanks ended_;
  AnswerWaits waits_;
  AnswerSteps answers_;
};

}  // namespace casync::runtime
