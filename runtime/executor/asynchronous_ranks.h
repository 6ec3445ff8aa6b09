// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/executor/answer_waits.h"
#include "runtime/executor/answering.h"
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
/// answered by itself. A rank that has ended its steps goes on answering until all have.
///
/// Threads: the progress thread's, but for what says otherwise.
class AsynchronousRanks {
 public:
  /// Borrows all of these.
  AsynchronousRanks(const ExecutorOptions& options, Transport& transport, ReadyTasks& ready, GradientSteps& steps,
                    Failures& failures, WorkRecord& record);

  /// Takes in a run of asynchronous ranks. What ranks have ended is so for its owner's side, too; if this one has, it
  /// answers from now on.
  void take_in(GradientRun& run);
  bool empty() const { return runs_.empty(); }

  /// A step of this rank has begun: contributes to its own partitions; a dedicated server asks the other owners.
  void begin(GradientRun& run);
  /// Ends the job where a consensus would need a rank that has ended its steps.
  void check_consensus();
  /// After a consensus: gives all ranks equal sums. Returns false if that is over: there are none here, or they lie on
  /// a device.
  bool begin_levelling(GradientRun& side);

  /// A contribution has arrived in its place, or the question of a dedicated server, which has none.
  void take_contribution(GradientRun& side, Rank from, const Message& message);
  /// A task of a batch is over: on the host it is the whole batch.
  Clock::time_point finish_task(GradientRun& side, TaskId task, const TaskOutcome& outcome, Clock::time_point from,
                                std::uint32_t lane);
  void answer_left(GradientRun& side, TaskId task, const Send& send, Bytes bytes);
  /// The names and numbers of an answer that leaves are those of the rank's own run.
  static MessageKey key_of_answer(const GradientRun& side, TaskId task, const Send& send);

  /// Takes a word of another rank. Returns false if the message is none.
  bool take_word(Rank from, const Message& message);
  /// A rank has ended its steps, so many: nobody waits for it any more.
  void end_rank(Rank rank, std::uint32_t steps);
  /// The same of this rank, which says so to all others, and answers them from now on.
  void end_own(std::uint32_t steps);
  /// Any thread asks it if all have.
  const EndedRanks& ended() const { return ended_; }
  AnswerWaits& waits() { return waits_; }
  const AnswerWaits& waits() const { return waits_; }

 private:
  template <class Visit>
  void for_each_side(Visit visit) const;
  Clock::time_point record_task(SpanKind kind, GradientRun& side, MessageId id, Rank peer, Bytes bytes,
                                std::uint32_t lane, Clock::time_point from);
  void begin_batch(GradientRun& side, TaskId batch);
  Clock::time_point finish_batch(GradientRun& side, TaskId batch, Clock::time_point from, std::uint32_t lane);
  void take_own_answer(GradientRun& side, TaskId batch);

  const ExecutorOptions& options_;
  Transport& transport_;
  ReadyTasks& ready_;
  GradientSteps& steps_;
  Failures& failures_;
  WorkRecord& record_;
  std::vector<GradientRun*> runs_;
  EndedRanks ended_;
  AnswerWaits waits_;
};

}  // namespace casync::runtime
