// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/gradient_steps.h"

#include <optional>
#include <utility>
#include <variant>

#include "casync/graph/access.h"
#include "runtime/executor/answering.h"
#include "runtime/executor/asynchronous_ranks.h"
#include "runtime/executor/bundles.h"
#include "runtime/executor/computing.h"
#include "runtime/executor/missing_work.h"

namespace casync::runtime {
namespace {

SpanKind kind_of(const Primitive& primitive) {
  if (std::holds_alternative<Encode>(primitive)) return SpanKind::kEncode;
  if (std::holds_alternative<Decode>(primitive)) return SpanKind::kDecode;
  return SpanKind::kMerge;
}

}  // namespace

GradientSteps::GradientSteps(Transport& transport, Arena& arena, ReadyTasks& ready, Computing& computing,
                             AsynchronousRanks& asynchronous, Bundles& bundles, MissingWork& missing, Waiters& waiters,
                             Failures& failures, WorkRecord& record)
    : transport_(transport),
      arena_(arena),
      ready_(ready),
      computing_(computing),
      asynchronous_(asynchronous),
      bundles_(bundles),
      missing_(missing),
      waiters_(waiters),
      failures_(failures),
      record_(record) {}

void GradientSteps::begin(const GradientStart& start) {
  GradientRun& run = *start.run;
  run.begin(start.step, start.data);
  run.device.begin(start.device_data, start.ready);
  missing_.moved(run.step.begun());
  GradientRun* const instead = start.instead != nullptr ? start.instead : run.related.warm_up_in(start.step);
  run.related.choose(instead);
  if (GradientRun* const side = run.owner_side()) {
    side->answering->put_off_from(instead != nullptr ? start.step : Answering::kEver);
  }
  if (instead != nullptr) {
    if (run.asynchronous) asynchronous_.check_consensus();
    if (!instead->kept.shares()) run.step.keep_nothing();
    return begin({instead, start.step, start.data, start.device_data, start.ready});
  }
  if (DeviceRounds* const rounds = computing_.rounds(); rounds != nullptr) {
    if (Status status = rounds->begin(run); !status) failures_.report(std::move(status));
    return;
  }
  if (run.rounds) return ready_.push_turn(run);
  transport_.retry_held(run.key);  // other ranks may be there already
  if (run.tasks.are_done()) return finish_gradient(run);
  ready_.push_first(run);
  if (run.asynchronous) asynchronous_.begin(run);
}

void GradientSteps::give_memory(GradientRun& run, BufferId buffer) {
  if (run.state(buffer).memory.data != nullptr || run.buffers.elements_in(buffer) == 0) return;
  if (run.buffers.is_in_gradient(buffer)) {
    run.buffers.place(buffer, run.memory(run.buffers.of(buffer).slice), false);
  } else {
    run.buffers.place(buffer, arena_.take(run.buffers.bound_of(buffer)), true);
  }
}

void GradientSteps::prepare(GradientRun& run, TaskId task) {
  if (run.rounds || run.answering) return;
  const Primitive& primitive = run.graph.tasks()[TaskGraph::index(task)];
  if (const auto* encode = std::get_if<Encode>(&primitive)) give_memory(run, encode->to);
  if (const auto* merge = std::get_if<Merge>(&primitive)) give_memory(run, merge->to);
}

void GradientSteps::run_instant(GradientRun& run, TaskId task) {
  prepare(run, task);
  static_cast<void>(take_over(run, task, run_instant_task(run, task)));
  complete(run, task);
}

Clock::time_point GradientSteps::finish(GradientRun& run, TaskId task, TaskOutcome outcome, Clock::time_point from,
                                        std::uint32_t lane) {
  if (!outcome.status.is_ok()) {
    failures_.report(std::move(outcome.status));
    return Clock::now();
  }
  if (run.rounds) return finish_turn(run, outcome, from, lane);
  if (run.answering) return asynchronous_.finish_task(run, task, outcome, from, lane);
  const BufferId buffer = take_over(run, task, outcome);
  const Bytes bytes = run.buffers.elements_in(buffer) * bytes_of(run.spec.dtype);
  const SpanKind kind = kind_of(run.graph.tasks()[TaskGraph::index(task)]);
  const Clock::time_point now = record_.record(kind, run, {run.buffers.of(buffer).partition, 0}, -1, bytes, lane, from);
  complete(run, task);
  return now;
}

void GradientSteps::mark_not_finite(GradientRun& run, BufferId decoded) {
  run.step.note_finite(false);
  if (!run.parts) return;
  for (std::size_t i = 0; i < run.part_count(); ++i) {
    run.part(i).step.note_finite(bundle_part_is_finite(run.state(decoded).memory, run.part_count(), i));
  }
}

/// Notes the outcome of a task; returns the payload that it made or decoded.
BufferId GradientSteps::take_over(GradientRun& run, TaskId task, const TaskOutcome& outcome) {
  const Primitive& primitive = run.graph.tasks()[TaskGraph::index(task)];
  if (const auto* decode = std::get_if<Decode>(&primitive)) {
    if (!outcome.finite) mark_not_finite(run, decode->from);  // alike on all ranks with this result
    return decode->from;
  }
  const BufferId buffer = *written_buffer(primitive);
  run.buffers.make(buffer, outcome.bytes, outcome.finite);
  return buffer;
}

void GradientSteps::complete(GradientRun& run, TaskId task) {
  record_.count_task();
  run.tasks.complete(task, [&](TaskId next) { ready_.push(run, next); });
  const Primitive& primitive = run.graph.tasks()[TaskGraph::index(task)];
  for_each_read(primitive, [&](BufferId buffer) { release(run, buffer); });
  if (const std::optional<BufferId> written = written_buffer(primitive)) release(run, *written);
  if (run.tasks.are_done()) finish_gradient(run);
}

void GradientSteps::release(GradientRun& run, BufferId buffer) {
  const View memory = run.buffers.release(buffer);
  if (memory.data != nullptr) arena_.give_back(memory);
}

void GradientSteps::finish_gradient(GradientRun& run) {
  if (run.parts) return bundles_.finish(run);
  run.step.end(Clock::now());
  if (run.related.outer() != nullptr) return finish_inner(run);
  waiters_.finish(1);
  announce_soon();
}

/// Goes on with the gradient that waits for `run`.
void GradientSteps::finish_inner(const GradientRun& run) {
  GradientRun& outer = *run.related.outer();
  if (&run == outer.related.instead()) {
    outer.step.note_finite(run.step.is_finite());
    if (outer.owner_side() && asynchronous_.begin_levelling(*outer.owner_side())) return;
    return finish_gradient(outer);
  }
  outer.rounds->go_on();
  ready_.push_turn(outer);
}

Clock::time_point GradientSteps::finish_turn(GradientRun& run, const TaskOutcome& outcome, Clock::time_point from,
                                             std::uint32_t lane) {
  RoundsRun& rounds = *run.rounds;
  record_.count_task();
  const SpanKind kind = rounds.is_last() ? SpanKind::kDecode : SpanKind::kEncode;
  const Clock::time_point now = record_.record(kind, run, {rounds.turn(), 0}, -1, run.spec.bytes(), lane, from);
  if (rounds.is_last()) {
    run.step.note_finite(outcome.finite);
    finish_gradient(run);
  } else {
    const DeviceBuffer& exchanged = *rounds.exchanged()[rounds.turn()];
    GradientStart start{rounds.exchanges()[rounds.turn()].get(), run.step.number(), {}};
    if (computing_.is_on_device()) {
      start.device_data = exchanged.device();
    } else {
      start.data = exchanged.view();
    }
    begin(start);
  }
  return now;
}

}  // namespace casync::runtime
