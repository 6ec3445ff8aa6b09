// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "casync/simulator/urgent_queue.h"

namespace casync::engine {

struct Engine;

/// The progress of tasks: runs of gradients on ranks, tasks that wait for others, and tasks that are over.
class TaskProgress {
 public:
  explicit TaskProgress(Engine& engine);

  /// A gradient begins on a rank.
  void begin_run(Rank rank, std::uint32_t gradient, int step);
  bool is_active(std::uint32_t run) const { return runs_[run].active; }
  int step_of_run(std::uint32_t run) const { return runs_[run].step; }
  /// The step of a message that has not left. An owner's messages, and those to it, need none: nobody has two of a
  /// kind.
  int step_of(std::uint32_t send) const;
  /// A batch of an owner, which belongs to no step of its rank, answers this step.
  void answer_step(std::uint32_t batch, int step);

  /// All that a task waits for is there. If tasks have a cost of their own, each goes through the codec, and a message
  /// afterwards to its port.
  void make_ready(std::uint32_t task);
  /// The same at once, of the task by which an owner takes its own answer. To be followed by complete(), or called by
  /// it.
  void answer_own(std::uint32_t task);
  /// Completes a task and all that end with it, without nesting: chains of instant tasks may be long.
  void complete(std::uint32_t task);
  /// A message of this step of its sender has arrived, of which the network knows the moment at which it began to.
  void arrive(std::uint32_t recv, int step);

  /// The task for queues: its place among those that are ready.
  UrgentTask urgent(std::uint32_t task);
  /// The number of tasks that urgent() has been called for.
  std::uint64_t arrivals() const { return arrivals_; }

  void keep_span(std::uint32_t task, double from);
  /// Internal: the error that names a task which can never run.
  Status who_waits() const;

 private:
  /// One gradient on one rank.
  struct Run {
    int step = -1;  ///< the last one that began
    bool active = false;
    std::uint32_t tasks_left = 0;
    double ready_at = 0;
    std::vector<std::pair<std::uint32_t, int>> early;  ///< messages of steps that have not begun: recv, step
  };

  void receive(std::uint32_t recv);
  void finish_run(std::uint32_t run);

  Engine& engine_;
  std::vector<Run> runs_;
  std::vector<std::int32_t> waits_for_;  // by task
  std::vector<std::uint32_t> done_;      // tasks that are over and have not set their successors free
  std::uint64_t arrivals_ = 1;
};

}  // namespace casync::engine
