// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "casync/graph/task_graph.h"

namespace casync::runtime {

class RunBuffers;

/// The progress of the tasks of a graph in the step under way.
///
/// Threads: the progress thread's.
class RunTasks {
 public:
  /// Borrows the graph.
  explicit RunTasks(const TaskGraph& graph);
  RunTasks(const RunTasks&) = delete;
  RunTasks& operator=(const RunTasks&) = delete;

  /// Finds the tasks that move no byte: those on payloads that lie in the gradient's own memory, and on no elements.
  /// `has_result`: a decode makes more than the elements.
  void find_instant(const RunBuffers& buffers, bool has_result);
  /// The number under which the executor finds the run.
  void set_number(std::uint32_t number) { number_ = number; }

  std::size_t count() const { return waits_for_.size(); }
  /// The position on its partition's way.
  std::uint32_t hop(TaskId task) const { return traits_[TaskGraph::index(task)].hop; }
  /// It moves no byte: an identity codec's payload that is the gradient's own memory, or a payload of no elements.
  bool is_instant(TaskId task) const { return traits_[TaskGraph::index(task)].is_instant; }
  /// The executor's name for the task of this run, which has its number in the upper half.
  std::uint64_t cookie(TaskId task) const { return std::uint64_t{number_} << 32 | TaskGraph::index(task); }

  /// A step begins: all tasks are to be done.
  void begin();
  bool are_done() const { return left_ == 0; }
  bool is_done(TaskId task) const { return waits_for_[TaskGraph::index(task)] == kDone; }
  /// Calls visit(TaskId) for each task that waits for no other.
  template <class Visit>
  void for_each_ready(Visit visit) const {
    for (std::size_t i = 0; i < waits_for_.size(); ++i) {
      if (waits_for_[i] == 0) visit(TaskId(static_cast<std::uint32_t>(i)));
    }
  }
  /// The task is done. Calls ready(TaskId) for each that has waited for it last.
  template <class Ready>
  void complete(TaskId task, Ready ready) {
    waits_for_[TaskGraph::index(task)] = kDone;
    --left_;
    for (const TaskId next : graph_.successors(task)) {
      if (--waits_for_[TaskGraph::index(next)] == 0) ready(next);
    }
  }
  /// The same where others may be done by now, and none gets ready.
  void skip(TaskId task);

  /// The task's message begins to move.
  void begin_moving(TaskId task) { since_[TaskGraph::index(task)] = Clock::now(); }
  Clock::time_point moving_since(TaskId task) const { return since_[TaskGraph::index(task)]; }

 private:
  static constexpr int kDone = -1;
  struct Traits {
    std::uint32_t hop = 0;
    bool is_instant = false;
  };

  const TaskGraph& graph_;
  // By task.
  std::vector<Traits> traits_;
  std::vector<int> waits_for_;            ///< predecessors that are not done, or kDone
  std::vector<Clock::time_point> since_;  ///< when its message began to move
  int left_ = 0;
  std::uint32_t number_ = 0;
};

}  // namespace casync::runtime
