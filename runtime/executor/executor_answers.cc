// SPDX-License-Identifier: Apache-2.0
//
// The owner's side of asynchronous ranks: contributions come from any rank in any step, and each rank is answered by
// itself. A rank that has ended its steps goes on answering until all have.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "runtime/executor/answering.h"
#include "runtime/executor/executor.h"
#include "runtime/executor/stream_slot.h"

namespace casync::runtime {

/// A contribution has arrived in its place, or the question of a dedicated server, which has none.
void Executor::take_contribution(GradientRun& side, Rank from, const Message& message) {
  const MessageId id{message.key.partition, message.key.hop};
  if (side.answering->contributes(from)) {
    const GradientRun::Arrival* const arrival = side.arrival(id, from);
    CASYNC_CHECK(arrival != nullptr && arrival->begun);
    const Recv& recv = std::get<Recv>(side.graph.tasks()[TaskGraph::index(arrival->task)]);
    side.state(recv.to).finite = message.finite;
    side.step = message.key.step;
    record(SpanKind::kRecv, side, id, from, message.payload_bytes, 0, side.since[TaskGraph::index(arrival->task)]);
    counters_.tasks.fetch_add(1, std::memory_order_relaxed);
  }
  others_went_on_.fetch_add(1);
  const TaskId task = side.answering->task_of(id.partition);
  side.answering->batches_of(task).contribute(from, message.key.step);
  begin_batch(side, task);
}

/// Asks the other owners for their answers to the step that has begun: this rank is a dedicated server.
void Executor::ask_owners(const GradientRun& run) {
  for (const Primitive& task : run.graph.tasks()) {
    const Recv* const recv = std::get_if<Recv>(&task);
    if (recv == nullptr || recv->from == options_.rank) continue;
    say(recv->from, {run.key, run.step, recv->id.partition, kContributionHop});
  }
}

/// This rank's own contributions, of a step that has begun.
void Executor::contribute_own(GradientRun& run) {
  GradientRun& side = *run.owner_side;
  side.answering->for_each_task([&](TaskId task) {
    side.answering->batches_of(task).contribute(options_.rank, run.step);
    begin_batch(side, task);
  });
}

/// Queues the next batch of a partition, if an answer is due.
void Executor::begin_batch(GradientRun& side, TaskId task) {
  Answering& answering = *side.answering;
  View own;
  if (answering.batches_of(task).waits(options_.rank)) own = own_answer(side, task);
  if (answering.begin(task, own)) compute_.push({&side, task, side.decision.priority, kAnswerHop, arrivals_++});
}

/// The memory in which this rank awaits its own answer.
View Executor::own_answer(GradientRun& side, TaskId task) {
  GradientRun& run = *side.outer;
  const GradientRun::Arrival* const arrival = run.arrival({side.answering->number_of(task), kAnswerHop}, options_.rank);
  CASYNC_CHECK(arrival != nullptr);
  const BufferId buffer = std::get<Recv>(run.graph.tasks()[TaskGraph::index(arrival->task)]).to;
  give_memory(run, buffer);
  return run.state(buffer).memory;
}

Clock::time_point Executor::finish_batch(GradientRun& side, TaskId task, Clock::time_point from, std::uint32_t lane) {
  Answering& answering = *side.answering;
  const std::uint32_t partition = answering.number_of(task);
  AnswerBatches& batches = answering.batches_of(task);
  const bool levels = answering.is_levelling(task);
  side.step = levels ? side.outer->step : batches.answered_step(batches.answered().front());
  counters_.tasks.fetch_add(1, std::memory_order_relaxed);
  const Bytes bytes = answering.elements_of(task) * sizeof(float);
  const Clock::time_point now = record(SpanKind::kMerge, side, {partition, 0}, -1, bytes, lane, from);
  if (levels) {
    if (answering.finish_levelling(task)) finish_gradient(*side.outer);
    return now;
  }
  for (const Rank rank : batches.taken()) {
    if (rank != options_.rank) side.arrival({partition, kContributionHop}, rank)->begun = false;
  }
  batches.finish();
  for (const Rank rank : batches.answered()) {
    if (rank == options_.rank) {
      take_own_answer(side, task);
      continue;
    }
    const Answering::Messages& messages = answering.messages(task, rank);
    const compll::Encoded& made = answering.answer_to(task, rank);
    side.state(messages.answer).bytes = made.size;
    side.state(messages.answer).finite = made.finite;
    push_send(rank, {&side, messages.send, side.decision.priority, kAnswerHop, arrivals_++});
  }
  begin_batch(side, task);
  return now;
}

void Executor::take_own_answer(GradientRun& side, TaskId task) {
  GradientRun& run = *side.outer;
  Answering& answering = *side.answering;
  answering.batches_of(task).left(options_.rank);
  const compll::Encoded& made = answering.answer_to(task, options_.rank);
  const GradientRun::Arrival* const arrival = run.arrival({answering.number_of(task), kAnswerHop}, options_.rank);
  GradientRun::BufferState& state = run.state(std::get<Recv>(run.graph.tasks()[TaskGraph::index(arrival->task)]).to);
  state.bytes = made.size;
  state.finite = made.finite;
  complete(run, arrival->task);
}

/// The names and numbers of an answer that leaves are those of the rank's own run.
MessageKey Executor::key_of_answer(const GradientRun& side, TaskId task, const Send& send) {
  const Answering::Addressee to = side.answering->addressee(task);
  const std::uint32_t step = side.answering->batches_of(to.task).answered_step(to.rank);
  return {side.outer->key, step, send.id.partition, send.id.hop};
}

void Executor::answer_left(GradientRun& side, TaskId task, const Send& send, Bytes bytes) {
  side.step = key_of_answer(side, task, send).step;
  record(SpanKind::kSend, side, send.id, send.to, bytes, 0, side.since[TaskGraph::index(task)]);
  counters_.tasks.fetch_add(1, std::memory_order_relaxed);
  const Answering::Addressee to = side.answering->addressee(task);
  side.answering->batches_of(to.task).left(to.rank);
  begin_batch(side, to.task);
}

/// After a consensus: gives all ranks equal sums. Returns false if there are none here.
bool Executor::begin_levelling(GradientRun& side) {
  side.answering->for_each_task([&](TaskId task) {
    side.answering->begin_levelling(task, side.outer->step + 1);
    compute_.push({&side, task, side.decision.priority, kAnswerHop, arrivals_++});
  });
  return side.answering->partitions() > 0;
}

template <class Visit>
void Executor::for_each_side(Visit visit) const {
  for (const std::unique_ptr<GradientRun>& run : runs_) {
    if (run->owner_side) visit(*run->owner_side);
  }
}

/// Returns true if ranks are asynchronous.
bool Executor::steps_alone() const { return !runs_.empty() && runs_.front()->asynchronous; }

/// A rank has ended its steps, so many of them: nobody waits for it any more.
void Executor::end_rank(Rank rank, std::uint32_t steps) {
  std::uint32_t& ended_at = ended_at_[static_cast<std::size_t>(rank)];
  if (ended_at != kNotEnded) return;
  ended_at = steps;
  ended_ranks_.fetch_add(1);
  announce_ = true;
  check_consensus();
  for_each_side([&](GradientRun& side) {
    side.answering->for_each_task([&](TaskId task) {
      side.answering->batches_of(task).end(rank);
      begin_batch(side, task);
    });
  });
}

/// Tells a new owner's side which ranks have ended their steps. If this one has, it answers from now on.
void Executor::end_ended(GradientRun& side) {
  for (Rank rank = 0; rank < options_.ranks; ++rank) {
    if (ended_at_[static_cast<std::size_t>(rank)] == kNotEnded) continue;
    side.answering->for_each_task([&](TaskId task) { side.answering->batches_of(task).end(rank); });
  }
  if (ended_at_[static_cast<std::size_t>(options_.rank)] == kNotEnded) return;
  side.answering->put_off_from(Answering::kEver);
  transport_->retry_held();
}

/// Ends the job where a consensus would need a rank that has ended its steps.
void Executor::check_consensus() {
  for (const std::unique_ptr<GradientRun>& run : runs_) {
    if (!run->asynchronous || !run->active || run->instead == nullptr) continue;
    const auto ended =
        std::find_if(ended_at_.begin(), ended_at_.end(), [&](std::uint32_t steps) { return steps <= run->step; });
    if (ended == ended_at_.end()) continue;
    return report(peer_failure("rank " + std::to_string(ended - ended_at_.begin()) + " has closed its session, and " +
                               "the consensus of step " + std::to_string(run->step) + " needs its parameters"));
  }
}

/// Says to all ranks that this one has ended its steps.
void Executor::say_end(std::uint32_t steps) {
  for (Rank peer = 0; peer < options_.ranks; ++peer) {
    if (peer != options_.rank) say(peer, {.step = steps, .hop = kEndedHop});
  }
}

/// A message without a payload.
void Executor::say(Rank to, const MessageKey& key, std::uint64_t elements) {
  Message notice;
  notice.key = key;
  notice.elements = elements;
  const Outgoing out{notice, {}, kNoticeCookie};
  transport_->send(to, {&out, 1});
}

Status Executor::serve_others(std::uint32_t steps, Seconds patience) {
  const bool posted = post([this, steps] {
    for_each_side([](GradientRun& side) { side.answering->put_off_from(Answering::kEver); });
    transport_->retry_held();
    say_end(steps);
    end_rank(options_.rank, steps);
  });
  if (!posted) return failure();
  const auto over = [&] { return announced_failure_ || ended_ranks_.load() == options_.ranks; };
  std::unique_lock lock(wait_mutex_);
  while (!over()) {
    const std::uint64_t seen = others_went_on_.load();
    if (changed_.wait_until(lock, after(patience), over) || others_went_on_.load() != seen) continue;
    lock.unlock();
    const std::optional<std::string> late = ask<std::string>([this] { return ranks_under_way(); }, patience);
    return timeout_error(fmt::format("no rank has gone on for {} s after this rank had ended its steps, and {} not",
                                     patience.count(), late.value_or("other ranks have")));
  }
  return announced_failure_ ? failure_ : Status::ok();
}

std::string Executor::ranks_under_way() const {
  std::string names;
  int count = 0;
  for (std::size_t rank = 0; rank < ended_at_.size(); ++rank) {
    if (ended_at_[rank] != kNotEnded) continue;
    names += (count++ == 0 ? "" : ", ") + std::to_string(rank);
  }
  return (count == 1 ? "rank " + names + " has" : "ranks " + names + " have");
}

/// Now and then tells ranks that have ended whether this one goes on, and each rank whose answer waits for whom it
/// waits: its own report names that rank.
void Executor::say_waits(Clock::time_point now) {
  if (now < waits_said_ + options_.stall) return;
  waits_said_ = now;
  const bool goes_on = std::exchange(begun_said_, begun_) != begun_;
  for (Rank rank = 0; rank < options_.ranks; ++rank) {
    const bool has_ended = ended_at_[static_cast<std::size_t>(rank)] != kNotEnded;
    if (goes_on && has_ended && rank != options_.rank) say(rank, {.hop = kGoesOnHop});
  }
  for_each_side([&](GradientRun& side) {
    const Answering& answering = *side.answering;
    answering.for_each_task([&](TaskId task) {
      for (Rank rank = 0; rank < options_.ranks; ++rank) {
        const std::optional<AnswerBatches::Wait> wait = answering.batches_of(task).wait_of(rank);
        if (!wait || rank == options_.rank) continue;
        say(rank, {side.outer->key, wait->step, answering.number_of(task), kWaitsHop},
            std::uint64_t{wait->steps} << 32 | static_cast<std::uint32_t>(wait->slowest));
      }
    });
  });
}

void Executor::take_wait(const Message& message) {
  GradientRun* const run = find_run(message.key.gradient);
  if (run == nullptr || !run->active || run->step != message.key.step) return;
  run->waits_behind =
      AnswerBatches::Wait{options_.rank, message.key.step, static_cast<Rank>(message.elements & 0x7fffffff),
                          static_cast<std::uint32_t>(message.elements >> 32)};
}

/// For whom an answer to this rank waits, "" if that is not known.
std::string Executor::answer_waits_for(const GradientRun& run, Rank owner, std::uint32_t partition) const {
  if (owner != options_.rank) return run.waits_behind ? text_of(*run.waits_behind, partition) : "";
  const Answering& answering = *run.owner_side->answering;
  const auto wait = answering.batches_of(answering.task_of(partition)).wait_of(owner);
  return wait ? text_of(*wait, partition) : "";
}

}  // namespace casync::runtime
