// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "casync/simulator/engine/task_table.h"
#include "casync/simulator/simulate.h"

namespace casync::engine {

/// The times of the steps so far: sums over the steps of each rank, those of gradients, and the intervals of tasks.
class StepRecord {
 public:
  /// Borrows its arguments.
  StepRecord(const SimulationOptions& options, const TaskTable& tasks)
      : options_(options), tasks_(tasks), sums_(tasks.ranks()), times_(tasks.gradients()) {}

  void add(Rank rank, double StepParts::*part, double seconds) {
    sums_[static_cast<std::size_t>(rank)].*part += seconds;
  }
  /// A task of `rank` has encoded, merged or decoded for so long.
  void add_work(Rank rank, std::uint32_t task, double seconds);
  void add_sync(std::uint32_t gradient, double seconds) { times_[gradient].sync_s += seconds; }
  /// Training stood still for `gradient`.
  void add_waiting(Rank rank, std::uint32_t gradient, double seconds) {
    add(rank, &StepParts::waiting_s, seconds);
    times_[gradient].waiting_s += seconds;
  }
  void add_message() { ++messages_; }
  void add_bytes(Bytes bytes) { bytes_sent_ += static_cast<double>(bytes); }
  /// Something of a step ended at `now`, which is not earlier than all so far.
  void step_ended(double now) { ended_ = std::max(ended_, now); }

  /// Keeps the interval of a task, if asked for. `step`: of its run.
  void keep_span(std::uint32_t task, int step, double from, double to);
  void keep_pass(SimulatedKind kind, Rank rank, int step, double from, double to);

  /// The means over `steps` steps, and over `shares` of all ranks. To be called once, at the end.
  Simulation means(double steps, double shares);

 private:
  const SimulationOptions& options_;
  const TaskTable& tasks_;
  std::vector<StepParts> sums_;
  std::vector<GradientTimes> times_;
  std::vector<SimulatedSpan> spans_;
  std::uint64_t messages_ = 0;
  double bytes_sent_ = 0, ended_ = 0;
};

}  // namespace casync::engine
