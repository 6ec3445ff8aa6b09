// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/answer_steps.h"

#include <optional>
#include <span>
#include <utility>

#include "base/check.h"

namespace casync::runtime {

void AnswerSteps::take(GradientRun& side, Rank from, const Message& message) {
  const MessageId id{message.key.partition, message.key.hop};
  if (side.answering->contributes(from)) {
    const Arrivals::Arrival* const arrival = side.arrivals.find(id, from);
    CASYNC_CHECK(arrival != nullptr && arrival->has_begun());
    side.buffers.receive(arrival->to(), message.finite, false);
    side.step.show(message.key.step);
    record(SpanKind::kRecv, side, id, from, message.payload_bytes, 0, side.tasks.moving_since(arrival->task()));
  }
  const TaskId batch = *side.answering->find(id.partition);
  side.answering->of(batch).batches().contribute(from, message.key.step);
  begin(side, batch);
}

void AnswerSteps::contribute_own(GradientRun& side) {
  side.answering->for_each_task([&](TaskId batch) {
    side.answering->of(batch).batches().contribute(side.self, side.related.outer()->step.number());
    begin(side, batch);
  });
}

void AnswerSteps::end_rank(GradientRun& side, Rank rank) {
  side.answering->for_each_task([&](TaskId batch) {
    side.answering->of(batch).batches().end(rank);
    begin(side, batch);
  });
}

/// A task of an owner's side is done; returns the time.
Clock::time_point AnswerSteps::record(SpanKind kind, GradientRun& side, MessageId id, Rank peer, Bytes bytes,
                                      std::uint32_t lane, Clock::time_point from) {
  record_.count_task();
  return record_.record(kind, side, id, peer, bytes, lane, from);
}

/// Queues the next batch of a partition, if an answer is due.
void AnswerSteps::begin(GradientRun& side, TaskId batch) {
  Answering& answering = *side.answering;
  View own;
  if (answering.of(batch).batches().waits(side.self)) {  // where this rank awaits its own answer
    GradientRun& run = *side.related.outer();
    const BufferId buffer = answering.of(batch).own_answer(run);
    steps_.give_memory(run, buffer);
    own = run.state(buffer).memory;
  }
  if (!answering.begin(batch, own)) return;
  side.step.show(answering.of(batch).batches().answered_step(answering.of(batch).batches().answered().front()));
  ready_.push_batch(side, batch);
}

Clock::time_point AnswerSteps::finish(GradientRun& side, TaskId task, const TaskOutcome& outcome,
                                      Clock::time_point from, std::uint32_t lane) {
  Answering& answering = *side.answering;
  DeviceAnswers* const on_device = answering.on_device();
  if (on_device == nullptr) return finish_batch(side, task, from, lane);
  const TaskId batch = on_device->batch_of(task);
  if (const std::optional<Rank> rank = on_device->addressee(task)) {
    answering.of(batch).note_answer(*rank, {outcome.bytes, outcome.finite});
    if (on_device->end_answer(batch)) return finish_batch(side, batch, from, lane);
    return Clock::now();
  }
  const std::span<const Rank> answered = answering.of(batch).batches().answered();
  on_device->begin_answers(batch, answered.size());
  for (const Rank rank : answered) ready_.push_batch(side, on_device->answer_task(batch, rank));
  return Clock::now();
}

Clock::time_point AnswerSteps::finish_batch(GradientRun& side, TaskId batch, Clock::time_point from,
                                            std::uint32_t lane) {
  Answering& answering = *side.answering;
  const std::uint32_t partition = answering.of(batch).number();
  AnswerBatches& batches = answering.of(batch).batches();
  const bool levels = answering.of(batch).is_levelling();
  side.step.show(levels ? side.related.outer()->step.number() : batches.answered_step(batches.answered().front()));
  const Bytes bytes = answering.of(batch).elements() * sizeof(float);
  const Clock::time_point now = record(SpanKind::kMerge, side, {partition, 0}, -1, bytes, lane, from);
  if (levels) {
    if (answering.finish_levelling(batch)) steps_.finish_gradient(*side.related.outer());
    return now;
  }
  for (const Rank rank : batches.taken()) {
    if (rank != side.self) side.arrivals.find({partition, kContributionHop}, rank)->forget();
  }
  batches.finish();
  for (const Rank rank : batches.answered()) {
    if (rank == side.self) {
      take_own_answer(side, batch);
      continue;
    }
    const OwnedPartition::PeerMessages& messages = answering.of(batch).messages(rank);
    const compll::Encoded& made = answering.of(batch).answer_to(rank);
    side.buffers.make(messages.answer, made.size, made.finite);
    ready_.push_answer(rank, side, messages.send);
  }
  begin(side, batch);
  return now;
}

void AnswerSteps::take_own_answer(GradientRun& side, TaskId batch) {
  GradientRun& run = *side.related.outer();
  Answering& answering = *side.answering;
  answering.of(batch).batches().left(side.self);
  const compll::Encoded& made = answering.of(batch).answer_to(side.self);
  const Arrivals::Arrival* const arrival = run.arrivals.find({answering.of(batch).number(), kAnswerHop}, side.self);
  run.buffers.make(arrival->to(), made.size, made.finite);
  steps_.complete(run, arrival->task());
}

MessageKey AnswerSteps::key_of(const GradientRun& side, TaskId task, const Send& send) {
  const Answering::Addressee to = side.answering->addressee(task);
  const std::uint32_t step = side.answering->of(to.task).batches().answered_step(to.rank);
  return {side.related.outer()->key, step, send.id.partition, send.id.hop};
}

void AnswerSteps::left(GradientRun& side, TaskId task, const Send& send, Bytes bytes) {
  side.step.show(key_of(side, task, send).step);
  record(SpanKind::kSend, side, send.id, send.to, bytes, 0, side.tasks.moving_since(task));
  const Answering::Addressee to = side.answering->addressee(task);
  side.answering->of(to.task).batches().left(to.rank);
  begin(side, to.task);
}

bool AnswerSteps::begin_levelling(GradientRun& side) {
  if (side.answering->on_device() != nullptr) {
    const Status status = side.answering->level_on_device(side.related.outer()->step.number() + 1);
    if (status) return false;
    failures_.report(Status(status.code(), "gradient " + side.spec.name + ", step " +
                                               std::to_string(side.related.outer()->step.number()) + ": " +
                                               status.message()));
    return true;
  }
  side.answering->for_each_task([&](TaskId batch) {
    side.answering->begin_levelling(batch, side.related.outer()->step.number() + 1);
    ready_.push_batch(side, batch);
  });
  return side.answering->partitions() > 0;
}

}  // namespace casync::runtime
