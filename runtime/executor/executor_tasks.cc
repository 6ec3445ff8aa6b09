// SPDX-License-Identifier: Apache-2.0
//
// The progress thread's tasks: what becomes ready, where it runs, what its end sets free.
#include <exception>

#include "base/allocation_count.h"
#include "base/check.h"
#include "casync/graph/access.h"
#include "runtime/executor/answering.h"
#include "runtime/executor/executor.h"

namespace casync::runtime {
namespace {

// Below this a task is over before another thread has woken up.
constexpr Elements kStreamElements = Elements{32} * 1024;

// Small tasks run one after the other for so long before the network is looked at again: what they made leaves
// fused then, and a message that comes in meanwhile waits no longer than a wake-up would take.
constexpr std::chrono::microseconds kTaskTime{50};

Elements elements_of(const GradientRun& run, TaskId task) {
  if (run.rounds) return run.elements;
  if (run.answering) return run.answering->elements_of(task);
  const Primitive& primitive = run.graph.tasks()[TaskGraph::index(task)];
  if (run.parts && !std::holds_alternative<Merge>(primitive)) return run.elements;
  if (const auto* encode = std::get_if<Encode>(&primitive)) return encode->from.count;
  if (const auto* decode = std::get_if<Decode>(&primitive)) return decode->to.count;
  const auto& merge = std::get<Merge>(primitive);
  return run.elements_in(merge.to) * merge.contributions.size();
}

SpanKind kind_of(const Primitive& primitive) {
  if (std::holds_alternative<Encode>(primitive)) return SpanKind::kEncode;
  if (std::holds_alternative<Decode>(primitive)) return SpanKind::kDecode;
  return SpanKind::kMerge;
}

}  // namespace

void Executor::begin(const Start& start) {
  GradientRun& run = *start.run;
  run.begin(start.step, start.data);
  run.device_data = start.device_data;
  run.ready = start.ready;
  stalls_.moved(run.begun);
  run.instead = start.instead != nullptr ? start.instead : run.warm_up_in(start.step);
  if (run.owner_side) run.owner_side->answering->put_off_from(run.instead != nullptr ? start.step : Answering::kEver);
  if (run.instead != nullptr) {
    if (run.asynchronous) asynchronous_.check_consensus();
    run.keeps = run.instead->shares_kept;
    return begin({run.instead, start.step, start.data, start.device_data, start.ready});
  }
  if (rounds_ != nullptr) {
    if (Status status = rounds_->begin(run); !status) report(std::move(status));
    return;
  }
  if (run.rounds) return make_turn_ready(run);
  transport_->retry_held(run.key);  // other ranks may be there already
  if (run.tasks_left == 0) return finish_gradient(run);
  for (std::size_t i = 0; i < run.waits_for.size(); ++i) {
    if (run.waits_for[i] == 0) make_ready(run, TaskId(i));
  }
  if (run.asynchronous) asynchronous_.begin(run);
}

void Executor::make_ready(GradientRun& run, TaskId task) {
  const Primitive& primitive = run.graph.tasks()[TaskGraph::index(task)];
  if (std::holds_alternative<Recv>(primitive)) return;  // happens when its message comes
  const GradientRun::TaskTraits& traits = run.traits[TaskGraph::index(task)];
  const ReadyTask ready{&run, task, run.decision.priority, traits.hop, arrivals_++};
  if (traits.instant) {
    instant_.push_back(ready);
  } else if (const auto* send = std::get_if<Send>(&primitive)) {
    links_.push(send->to, ready);
  } else {
    compute_.push(ready);
  }
}

void Executor::give_memory(GradientRun& run, BufferId buffer) {
  GradientRun::BufferState& state = run.state(buffer);
  if (state.memory.data != nullptr) return;
  const Buffer& plan = run.graph.buffers()[TaskGraph::index(buffer)];
  if (run.in_place(buffer)) {
    state.memory = run.memory(plan.slice);
    return;
  }
  state.memory = arena_.take(run.bound_of(buffer));
  state.from_arena = true;
}

void Executor::prepare(GradientRun& run, TaskId task) {
  if (run.rounds || run.answering) return;
  const Primitive& primitive = run.graph.tasks()[TaskGraph::index(task)];
  if (const auto* encode = std::get_if<Encode>(&primitive)) give_memory(run, encode->to);
  if (const auto* merge = std::get_if<Merge>(&primitive)) give_memory(run, merge->to);
}

/// Runs a task, on any thread. Reading processor time twice costs half a microsecond, so only timelines have it.
TaskOutcome Executor::compute(GradientRun& run, TaskId task, Scratch& scratch) {
  const float scale = run.scale_or(options_.scale);
  if (options_.timeline == nullptr) return run_task(run, task, options_.seed, scale, scratch);
  const double before = seconds_of_this_thread();
  TaskOutcome outcome = run_task(run, task, options_.seed, scale, scratch);
  counters_.codec_processor_s.fetch_add(seconds_of_this_thread() - before, std::memory_order_relaxed);
  return outcome;
}

/// One after the other, not one inside the other: each may make the next one ready.
bool Executor::run_instant_tasks() {
  if (instant_.empty()) return false;
  for (std::size_t i = 0; i < instant_.size(); ++i) {
    const ReadyTask ready = instant_[i];
    prepare(*ready.run, ready.task);
    static_cast<void>(take_over(*ready.run, ready.task, run_instant_task(*ready.run, ready.task)));
    complete(*ready.run, ready.task);
  }
  instant_.clear();
  return true;
}

bool Executor::run_ready_tasks() {
  bool any = run_instant_tasks();
  if (device_tasks_ != nullptr) return begin_device_tasks() || any;
  if (rounds_ != nullptr) return run_rounds() || any;
  if (compute_.empty()) return any;
  Clock::time_point now = Clock::now();
  const Clock::time_point until = now + kTaskTime;
  while (!take_stale(compute_) && now < until && !failing()) {
    const ReadyTask ready = compute_.top();
    if (!dispatch(ready)) {
      if (!streams_.empty() && elements_of(*ready.run, ready.task) >= kStreamElements) break;  // streams are full
      compute_.pop();
      prepare(*ready.run, ready.task);
      now = finish(*ready.run, ready.task, compute(*ready.run, ready.task, scratch_), now, 0);
      run_instant_tasks();
    } else {
      compute_.pop();
    }
    any = true;
  }
  return any;
}

bool Executor::dispatch(const ReadyTask& ready) {
  if (!streams_.has_room() || elements_of(*ready.run, ready.task) < kStreamElements) return false;
  prepare(*ready.run, ready.task);
  streams_.begin(ready);
  return true;
}

bool Executor::take_outcomes() {
  if (device_tasks_ != nullptr) return take_device_outcomes();
  return streams_.take_ended([this](Streams::Ended ended) {
    if (!failing()) finish(*ended.run, ended.task, std::move(ended.outcome), ended.from, ended.lane);
  });
}

Clock::time_point Executor::finish(GradientRun& run, TaskId task, TaskOutcome outcome, Clock::time_point from,
                                   std::uint32_t lane) {
  if (!outcome.status.is_ok()) {
    report(std::move(outcome.status));
    return Clock::now();
  }
  if (run.rounds) return finish_turn(run, outcome, from, lane);
  if (run.answering) return asynchronous_.finish_task(run, task, outcome, from, lane);
  const BufferId buffer = take_over(run, task, outcome);
  const Bytes bytes = run.elements_in(buffer) * bytes_of(run.spec.dtype);
  const Primitive& primitive = run.graph.tasks()[TaskGraph::index(task)];
  const Clock::time_point now = record(kind_of(primitive), run, {run.partition_of(buffer), 0}, -1, bytes, lane, from);
  complete(run, task);
  return now;
}

void Executor::mark_not_finite(GradientRun& run, BufferId decoded) {
  run.finite = false;
  if (!run.parts) return;
  for (std::size_t i = 0; i < run.part_count(); ++i) {
    GradientRun& part = run.part(i);
    part.finite = part.finite && bundle_part_is_finite(run.state(decoded).memory, run.part_count(), i);
  }
}

/// Records the outcome of a task; returns the payload that it made or decoded.
BufferId Executor::take_over(GradientRun& run, TaskId task, const TaskOutcome& outcome) {
  const Primitive& primitive = run.graph.tasks()[TaskGraph::index(task)];
  if (const auto* decode = std::get_if<Decode>(&primitive)) {
    if (!outcome.finite) mark_not_finite(run, decode->from);  // the owner's word: alike on all ranks
    return decode->from;
  }
  const BufferId buffer = *written_buffer(primitive);
  run.state(buffer).bytes = outcome.bytes;
  run.state(buffer).finite = outcome.finite;
  return buffer;
}

void Executor::complete(GradientRun& run, TaskId task) {
  counters_.tasks.fetch_add(1, std::memory_order_relaxed);
  run.waits_for[TaskGraph::index(task)] = GradientRun::kTaskDone;
  for (TaskId next : run.graph.successors(task)) {
    if (--run.waits_for[TaskGraph::index(next)] == 0) make_ready(run, next);
  }
  const Primitive& primitive = run.graph.tasks()[TaskGraph::index(task)];
  for_each_read(primitive, [&](BufferId buffer) { release(run, buffer); });
  if (const std::optional<BufferId> written = written_buffer(primitive)) release(run, *written);
  if (--run.tasks_left == 0) finish_gradient(run);
}

void Executor::release(GradientRun& run, BufferId buffer) {
  GradientRun::BufferState& state = run.state(buffer);
  if (--state.uses_left > 0 || !state.from_arena) return;
  arena_.give_back({state.memory.data, run.bound_of(buffer)});
  state.memory = {};
}

void Executor::finish_gradient(GradientRun& run) {
  if (run.parts) return bundles_.finish(run);
  run.active = false;
  ++run.steps;
  run.total_s += Seconds(Clock::now() - run.begun).count();
  run.completed.store(run.step + 1, std::memory_order_release);
  if (run.outer != nullptr) return finish_inner(run);
  waiters_.finish(1);
  announce_ = true;
}

/// Goes on with the gradient that waits for `run`.
void Executor::finish_inner(const GradientRun& run) {
  GradientRun& outer = *run.outer;
  if (&run == outer.instead) {
    outer.finite = run.finite;
    if (outer.owner_side && asynchronous_.begin_levelling(*outer.owner_side)) return;
    return finish_gradient(outer);
  }
  ++outer.rounds->turn;
  make_turn_ready(outer);
}

/// Queues the next turn as further along than all that the gradient did earlier.
void Executor::make_turn_ready(GradientRun& run) {
  compute_.push({&run, TaskId{}, run.decision.priority, 2 * run.rounds->turn, arrivals_++});
}

Clock::time_point Executor::finish_turn(GradientRun& run, const TaskOutcome& outcome, Clock::time_point from,
                                        std::uint32_t lane) {
  RoundsRun& rounds = *run.rounds;
  counters_.tasks.fetch_add(1, std::memory_order_relaxed);
  const SpanKind kind = rounds.is_last() ? SpanKind::kDecode : SpanKind::kEncode;
  const Clock::time_point now = record(kind, run, {rounds.turn, 0}, -1, run.spec.bytes(), lane, from);
  if (rounds.is_last()) {
    run.finite = outcome.finite;
    finish_gradient(run);
  } else {
    const DeviceBuffer& exchanged = *rounds.exchanged[rounds.turn];
    Start start{rounds.exchanges[rounds.turn].get(), run.step, {}};
    if (device_tasks_ == nullptr) {
      start.data = exchanged.view();
    } else {
      start.device_data = exchanged.device();
    }
    begin(start);
  }
  return now;
}

Clock::time_point Executor::record(SpanKind kind, GradientRun& run, MessageId id, Rank peer, Bytes bytes,
                                   std::uint32_t lane, Clock::time_point from) {
  const Clock::time_point to = Clock::now();
  std::atomic<double>& sum = counters_.seconds[static_cast<int>(kind)];
  sum.store(sum.load(std::memory_order_relaxed) + Seconds(to - from).count(), std::memory_order_relaxed);
  if (options_.timeline != nullptr) {
    options_.timeline->record({kind, &run, id, run.step, peer, bytes, lane, from, to});
  }
  return to;
}

void Executor::compute_batch(GradientRun& side, TaskId task) {
  compute_.push({&side, task, side.decision.priority, kAnswerHop, arrivals_++});
}

void Executor::send_answer(Rank to, GradientRun& side, TaskId send) {
  links_.push(to, {&side, send, side.decision.priority, kAnswerHop, arrivals_++});
}

Clock::time_point Executor::record_task(SpanKind kind, GradientRun& side, MessageId id, Rank peer, Bytes bytes,
                                        std::uint32_t lane, Clock::time_point from) {
  counters_.tasks.fetch_add(1, std::memory_order_relaxed);
  return record(kind, side, id, peer, bytes, lane, from);
}

}  // namespace casync::runtime
