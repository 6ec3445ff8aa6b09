// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "casync/simulator/drift.h"
#include "casync/simulator/flat_tasks.h"
#include "casync/simulator/simulate.h"

namespace casync::engine {

/// The tasks of all ranks, and the constants of each.
class TaskTable {
 public:
  /// Borrows its arguments.
  TaskTable(const Scenario& scenario, const FlatTasks& flat, const Drift& drift);

  std::uint32_t size() const { return static_cast<std::uint32_t>(tasks_.size()); }
  const FlatTask& operator[](std::uint32_t task) const { return tasks_[task]; }
  const FlatTasks& flat() const { return flat_; }

  /// The ranks that stand for all.
  std::size_t ranks() const { return static_cast<std::size_t>(flat_.symmetry().period); }
  std::uint32_t gradients() const { return gradients_; }  ///< trained ones
  std::uint32_t slots() const { return slots_; }          ///< those of which ranks have tasks
  std::size_t runs() const { return ranks() * slots_; }

  Rank rank_of(std::uint32_t task) const { return rank_of_run(tasks_[task].run); }
  Rank rank_of_run(std::uint32_t run) const { return static_cast<Rank>(run / slots_); }
  std::uint32_t gradient_of(std::uint32_t task) const { return gradient_of_run(tasks_[task].run); }
  std::uint32_t gradient_of_run(std::uint32_t run) const { return run % slots_ % gradients_; }
  /// The run of a gradient in a step; in pairs, ranks have one for each pairing.
  std::uint32_t run_of(Rank rank, std::uint32_t gradient, int step) const {
    const std::uint32_t pairing = drift_.pairings.empty() ? 0 : drift_.pairings[static_cast<std::size_t>(step)];
    return static_cast<std::uint32_t>(rank) * slots_ + pairing * gradients_ + gradient;
  }
  FlatTasks::Range tasks_of(std::uint32_t run) const { return flat_.of(run / slots_, run % slots_); }
  /// Returns true for a task of an owner of asynchronous ranks, which is no part of its rank's steps.
  bool is_side(std::uint32_t task) const { return drift_.owners != nullptr && tasks_[task].run % slots_ >= gradients_; }

  /// The seconds of a task besides its work.
  double task_s(std::uint32_t task) const { return tasks_s_[gradient_of(task)]; }
  /// The seconds of its work.
  double work_s(std::uint32_t task) const;
  Rank receiver_of(std::uint32_t send) const { return rank_of(tasks_[send].peer_task); }

 private:
  const FlatTasks& flat_;
  const Drift& drift_;
  const std::span<const FlatTask> tasks_;
  const std::uint32_t gradients_, slots_;
  const std::vector<double> tasks_s_;  ///< by trained gradient
};

}  // namespace casync::engine
