// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/engine/task_progress.h"

#include <string>

#include "casync/simulator/engine/engine.h"

namespace casync::engine {
namespace {

constexpr const char* kVerbs[] = {"instant", "encode", "merge", "decode", "send", "recv"};

}  // namespace

TaskProgress::TaskProgress(Engine& engine)
    : engine_(engine), runs_(engine.tasks.runs()), waits_for_(engine.tasks.size()) {}

int TaskProgress::step_of(std::uint32_t send) const {
  return engine_.drift.owners != nullptr ? 0 : runs_[engine_.tasks[send].run].step;
}

void TaskProgress::answer_step(std::uint32_t batch, int step) { runs_[engine_.tasks[batch].run].step = step; }

UrgentTask TaskProgress::urgent(std::uint32_t task) {
  const TaskTable& tasks = engine_.tasks;
  return {engine_.scenario.decisions[tasks.gradient_of(task)].priority, tasks[task].hop, arrivals_++, task};
}

void TaskProgress::begin_run(Rank rank, std::uint32_t gradient, int step) {
  const TaskTable& tasks = engine_.tasks;
  const std::uint32_t run = tasks.run_of(rank, gradient, step);
  Run& own = runs_[run];
  own.step = step;
  own.active = true;
  own.ready_at = engine_.clock.now();
  const auto [begin, end] = tasks.tasks_of(run);
  own.tasks_left = end - begin;
  for (std::uint32_t task = begin; task < end; ++task) waits_for_[task] = tasks[task].waits_for;
  if (own.tasks_left == 0) return finish_run(run);
  // A task's own end may make others ready: those are not to be started twice.
  for (std::uint32_t task = begin; task < end; ++task) {
    if (tasks[task].waits_for == 0) make_ready(task);
  }
  for (const auto& [recv, its_step] : own.early) {
    if (its_step != own.step || --waits_for_[recv] > 0) continue;
    keep_span(recv, engine_.network.since(recv));
    make_ready(recv);
  }
  std::erase_if(own.early, [&](const auto& message) { return message.second == own.step; });
  engine_.drifting.contribute_own(rank, gradient, step);
  if (done_.empty()) return;
  const std::uint32_t last = done_.back();
  done_.pop_back();
  complete(last);
}

void TaskProgress::make_ready(std::uint32_t task) {
  switch (engine_.tasks.task_s(task) > 0 ? TaskVerb::kEncode : engine_.tasks[task].verb) {
    case TaskVerb::kInstant:
    case TaskVerb::kRecv: done_.push_back(task); break;
    case TaskVerb::kSend: engine_.network.add_send(task); break;
    default:
      if (engine_.tasks[task].upload_s > 0) {
        engine_.copies.queue_upload(task);
      } else {
        engine_.processors.queue(task);
      }
      engine_.processors.mark(engine_.tasks.rank_of(task));
  }
}

void TaskProgress::answer_own(std::uint32_t task) {
  waits_for_[task] = 0;
  done_.push_back(task);
}

void TaskProgress::complete(std::uint32_t task) {
  done_.push_back(task);
  while (!done_.empty()) {
    const std::uint32_t over = done_.back();
    done_.pop_back();
    if (engine_.tasks.is_side(over)) {
      engine_.drifting.side_over(over);
      continue;
    }
    for (const std::uint32_t next : engine_.tasks.flat().successors(over)) {
      if (--waits_for_[next] == 0) make_ready(next);
    }
    const std::uint32_t run = engine_.tasks[over].run;
    if (--runs_[run].tasks_left == 0) finish_run(run);
  }
}

void TaskProgress::finish_run(std::uint32_t run) {
  const Rank rank = engine_.tasks.rank_of_run(run);
  runs_[run].active = false;
  engine_.record.add_sync(engine_.tasks.gradient_of_run(run), engine_.clock.now() - runs_[run].ready_at);
  engine_.drifting.finish_one(rank);
  engine_.training.look_again(rank);
}

void TaskProgress::arrive(std::uint32_t recv, int step) {
  Run& run = runs_[engine_.tasks[recv].run];
  if (!engine_.tasks.is_side(recv)) {
    if (engine_.drift.owners == nullptr && (!run.active || run.step != step)) {
      run.early.emplace_back(recv, step);
      return;
    }
    if (--waits_for_[recv] > 0) return;
  }
  keep_span(recv, engine_.network.since(recv));
  receive(recv);
}

void TaskProgress::receive(std::uint32_t recv) {
  if (engine_.tasks.task_s(recv) > 0) return make_ready(recv);
  complete(recv);
}

void TaskProgress::keep_span(std::uint32_t task, double from) {
  engine_.record.keep_span(task, runs_[engine_.tasks[task].run].step, from, engine_.clock.now());
}

Status TaskProgress::who_waits() const {
  const TaskTable& tasks = engine_.tasks;
  for (std::uint32_t task = 0; task < tasks.size(); ++task) {
    if (!runs_[tasks[task].run].active || waits_for_[task] <= 0) continue;
    return internal_error("rank " + std::to_string(tasks.rank_of(task)) + ", gradient " +
                          engine_.scenario.training.gradients[tasks.gradient_of(task)].spec.name + ", partition " +
                          std::to_string(tasks[task].partition) + ": its " +
                          kVerbs[static_cast<std::size_t>(tasks[task].verb)] + " can never run");
  }
  return internal_error("a rank did not come to the end of its step");
}

}  // namespace casync::engine
