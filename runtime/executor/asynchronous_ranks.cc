// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/asynchronous_ranks.h"

#include <optional>
#include <utility>

#include "base/check.h"
#include "runtime/executor/message_hops.h"

namespace casync::runtime {

AsynchronousRanks::AsynchronousRanks(const ExecutorOptions& options, Transport& transport, ReadyTasks& ready,
                                     GradientSteps& steps, Failures& failures, WorkRecord& record)
    : options_(options),
      transport_(transport),
      ready_(ready),
      steps_(steps),
      failures_(failures),
      record_(record),
      ended_(options.ranks),
      waits_(options, transport, runs_, ended_) {}

template <class Visit>
void AsynchronousRanks::for_each_side(Visit visit) const {
  for (GradientRun* const run : runs_) {
    if (run->owner_side()) visit(*run->owner_side());
  }
}

void AsynchronousRanks::take_in(GradientRun& run) {
  runs_.push_back(&run);
  if (!run.owner_side()) return;
  Answering& answering = *run.owner_side()->answering;
  for (Rank rank = 0; rank < options_.ranks; ++rank) {
    if (!ended_.has_ended(rank)) continue;
    answering.for_each_task([&](TaskId batch) { answering.of(batch).batches().end(rank); });
  }
  if (!ended_.has_ended(options_.rank)) return;
  answering.put_off_from(Answering::kEver);
  transport_.retry_held();
}

void AsynchronousRanks::begin(GradientRun& run) {
  waits_.note_step();
  if (run.owner_side()) {
    GradientRun& side = *run.owner_side();
    side.answering->for_each_task([&](TaskId batch) {
      side.answering->of(batch).batches().contribute(options_.rank, run.step.number());
      begin_batch(side, batch);
    });
  }
  if (!run.asynchronous->asks_owners()) return;
  for (const Primitive& task : run.graph.tasks()) {
    const Recv* const recv = std::get_if<Recv>(&task);
    if (recv == nullptr || recv->from == options_.rank) continue;
    send_word(transport_, recv->from, {run.key, run.step.number(), recv->id.partition, kContributionHop});
  }
}

void AsynchronousRanks::check_consensus() {
  for (const GradientRun* const run : runs_) {
    if (!run->step.is_under_way() || run->related.instead() == nullptr) continue;
    const std::optional<Rank> ended = ended_.first_without(run->step.number());
    if (!ended) continue;
    return failures_.report(peer_failure("rank " + std::to_string(*ended) +
                                         " has closed its session, and the consensus of step " +
                                         std::to_string(run->step.number()) + " needs its parameters"));
  }
}

bool AsynchronousRanks::begin_levelling(GradientRun& side) {
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

void AsynchronousRanks::take_contribution(GradientRun& side, Rank from, const Message& message) {
  const MessageId id{message.key.partition, message.key.hop};
  if (side.answering->contributes(from)) {
    const GradientRun::Arrival* const arrival = side.arrivals.find(id, from);
    CASYNC_CHECK(arrival != nullptr && arrival->has_begun());
    side.buffers.receive(arrival->to(), message.finite, false);
    side.step.show(message.key.step);
    record_task(SpanKind::kRecv, side, id, from, message.payload_bytes, 0, side.tasks.moving_since(arrival->task()));
  }
  waits_.note_other();
  const TaskId batch = *side.answering->find(id.partition);
  side.answering->of(batch).batches().contribute(from, message.key.step);
  begin_batch(side, batch);
}

/// A task of an owner's side is done; returns the time.
Clock::time_point AsynchronousRanks::record_task(SpanKind kind, GradientRun& side, MessageId id, Rank peer, Bytes bytes,
                                                 std::uint32_t lane, Clock::time_point from) {
  record_.count_task();
  return record_.record(kind, side, id, peer, bytes, lane, from);
}

/// Queues the next batch of a partition, if an answer is due.
void AsynchronousRanks::begin_batch(GradientRun& side, TaskId batch) {
  Answering& answering = *side.answering;
  View own;
  if (answering.of(batch).batches().waits(options_.rank)) {  // where this rank awaits its own answer
    GradientRun& run = *side.related.outer();
    const BufferId buffer = answering.of(batch).own_answer(run);
    steps_.give_memory(run, buffer);
    own = run.state(buffer).memory;
  }
  if (!answering.begin(batch, own)) return;
  side.step.show(answering.of(batch).batches().answered_step(answering.of(batch).batches().answered().front()));
  ready_.push_batch(side, batch);
}

Clock::time_point AsynchronousRanks::finish_task(GradientRun& side, TaskId task, const TaskOutcome& outcome,
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

Clock::time_point AsynchronousRanks::finish_batch(GradientRun& side, TaskId batch, Clock::time_point from,
                                                  std::uint32_t lane) {
  Answering& answering = *side.answering;
  const std::uint32_t partition = answering.of(batch).number();
  AnswerBatches& batches = answering.of(batch).batches();
  const bool levels = answering.of(batch).is_levelling();
  side.step.show(levels ? side.related.outer()->step.number() : batches.answered_step(batches.answered().front()));
  const Bytes bytes = answering.of(batch).elements() * sizeof(float);
  const Clock::time_point now = record_task(SpanKind::kMerge, side, {partition, 0}, -1, bytes, lane, from);
  if (levels) {
    if (answering.finish_levelling(batch)) steps_.finish_gradient(*side.related.outer());
    return now;
  }
  for (const Rank rank : batches.taken()) {
    if (rank != options_.rank) side.arrivals.find({partition, kContributionHop}, rank)->forget();
  }
  batches.finish();
  for (const Rank rank : batches.answered()) {
    if (rank == options_.rank) {
      take_own_answer(side, batch);
      continue;
    }
    const OwnedPartition::PeerMessages& messages = answering.of(batch).messages(rank);
    const compll::Encoded& made = answering.of(batch).answer_to(rank);
    side.buffers.make(messages.answer, made.size, made.finite);
    ready_.push_answer(rank, side, messages.send);
  }
  begin_batch(side, batch);
  return now;
}

void AsynchronousRanks::take_own_answer(GradientRun& side, TaskId batch) {
  GradientRun& run = *side.related.outer();
  Answering& answering = *side.answering;
  answering.of(batch).batches().left(options_.rank);
  const compll::Encoded& made = answering.of(batch).answer_to(options_.rank);
  const GradientRun::Arrival* const arrival =
      run.arrivals.find({answering.of(batch).number(), kAnswerHop}, options_.rank);
  run.buffers.make(arrival->to(), made.size, made.finite);
  steps_.complete(run, arrival->task());
}

MessageKey AsynchronousRanks::key_of_answer(const GradientRun& side, TaskId task, const Send& send) {
  const Answering::Addressee to = side.answering->addressee(task);
  const std::uint32_t step = side.answering->of(to.task).batches().answered_step(to.rank);
  return {side.related.outer()->key, step, send.id.partition, send.id.hop};
}

void AsynchronousRanks::answer_left(GradientRun& side, TaskId task, const Send& send, Bytes bytes) {
  side.step.show(key_of_answer(side, task, send).step);
  record_task(SpanKind::kSend, side, send.id, send.to, bytes, 0, side.tasks.moving_since(task));
  const Answering::Addressee to = side.answering->addressee(task);
  side.answering->of(to.task).batches().left(to.rank);
  begin_batch(side, to.task);
}

void AsynchronousRanks::end_rank(Rank rank, std::uint32_t steps) {
  if (!ended_.end(rank, steps)) return;
  steps_.announce_soon();
  check_consensus();
  for_each_side([&](GradientRun& side) {
    side.answering->for_each_task([&](TaskId batch) {
      side.answering->of(batch).batches().end(rank);
      begin_batch(side, batch);
    });
  });
}

void AsynchronousRanks::end_own(std::uint32_t steps) {
  for_each_side([](GradientRun& side) { side.answering->put_off_from(Answering::kEver); });
  transport_.retry_held();
  for (Rank peer = 0; peer < options_.ranks; ++peer) {
    if (peer != options_.rank) send_word(transport_, peer, {.step = steps, .hop = kEndedHop});
  }
  end_rank(options_.rank, steps);
}

bool AsynchronousRanks::take_word(Rank from, const Message& message) {
  switch (message.key.hop) {
    case kEndedHop: end_rank(from, message.key.step); return true;
    case kWaitsHop: waits_.take(message); return true;
    case kGoesOnHop: waits_.note_other(); return true;
    default: return false;
  }
}

}  // namespace casync::runtime
