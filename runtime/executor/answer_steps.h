// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/status.h"
#include "runtime/executor/answering.h"
#include "runtime/executor/failures.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/executor/gradient_steps.h"
#include "runtime/executor/ready_tasks.h"
#include "runtime/executor/work_record.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// Takes the partitions that this rank owns from contributions to answers: a batch begins where an answer is due, and
/// the next one once its answers have left. An owner's side is that of one gradient (GradientRun::owner_side). The
/// progress thread's.
class AnswerSteps {
 public:
  /// Borrows all of these.
  AnswerSteps(ReadyTasks& ready, GradientSteps& steps, Failures& failures, WorkRecord& record)
      : ready_(ready), steps_(steps), failures_(failures), record_(record) {}

  /// A contribution has arrived in its place, or the question of a dedicated server, which has none.
  void take(GradientRun& side, Rank from, const Message& message);
  /// This rank's own step, which has begun, contributes to its own partitions.
  void contribute_own(GradientRun& side);
  /// Nobody waits for this rank any more.
  void end_rank(GradientRun& side, Rank rank);
  /// After a consensus: gives all ranks equal sums. Returns false if that is over: there are none here, or they lie on
  /// a device.
  bool begin_levelling(GradientRun& side);

  /// A task of a batch is over: on the host it is the whole batch. Returns the time.
  Clock::time_point finish(GradientRun& side, TaskId task, const TaskOutcome& outcome, Clock::time_point from,
                           std::uint32_t lane);
  /// An answer has left.
  void left(GradientRun& side, TaskId task, const Send& send, Bytes bytes);
  /// The names and numbers of an answer that leaves are those of the rank's own run.
  static MessageKey key_of(const GradientRun& side, TaskId task, const Send& send);

 private:
  void begin(GradientRun& side, TaskId batch);
  Clock::time_point finish_batch(GradientRun& side, TaskId batch, Clock::time_point from, std::uint32_t lane);
  void take_own_answer(GradientRun& side, TaskId batch);
  Clock::time_point record(SpanKind kind, GradientRun& side, MessageId id, Rank peer, Bytes bytes, std::uint32_t lane,
                           Clock::time_point from);

  ReadyTasks& ready_;
  GradientSteps& steps_;
  Failures& failures_;
  WorkRecord& record_;
};

}  // namespace casync::runtime
