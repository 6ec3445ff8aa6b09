// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/ready_tasks.h"

#include <variant>

#include "runtime/executor/answering.h"

namespace casync::runtime {

void ReadyTasks::reserve(std::span<GradientRun* const> runs) {
  std::size_t tasks = 0;
  for (const GradientRun* run : runs) tasks += run->graph.tasks().size() + (run->rounds ? 1 : 0);
  to_compute_.reserve(tasks);
  instant_.reserve(instant_.capacity() + tasks);
}

void ReadyTasks::push(GradientRun& run, TaskId task) {
  const Primitive& primitive = run.graph.tasks()[TaskGraph::index(task)];
  if (std::holds_alternative<Recv>(primitive)) return;
  const ReadyTask ready{&run, task, run.decision.priority, run.tasks.hop(task), arrivals_++};
  if (run.tasks.is_instant(task)) {
    instant_.push_back(ready);
  } else if (const auto* send = std::get_if<Send>(&primitive)) {
    links_.push(send->to, ready);
  } else {
    to_compute_.push(ready);
  }
}

void ReadyTasks::push_first(GradientRun& run) {
  run.tasks.for_each_ready([&](TaskId task) { push(run, task); });
}

void ReadyTasks::push_turn(GradientRun& run) {
  to_compute_.push({&run, TaskId{}, run.decision.priority, 2 * run.rounds->turn(), arrivals_++});
}

void ReadyTasks::push_batch(GradientRun& side, TaskId task) {
  to_compute_.push({&side, task, side.decision.priority, kAnswerHop, arrivals_++});
}

void ReadyTasks::push_answer(Rank to, GradientRun& side, TaskId send) {
  links_.push(to, {&side, send, side.decision.priority, kAnswerHop, arrivals_++});
}

}  // namespace casync::runtime
