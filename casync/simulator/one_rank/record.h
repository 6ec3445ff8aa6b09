// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include "casync/simulator/simulate.h"

namespace casync::one_rank {

/// The times of the step.
class Record {
 public:
  void reset(std::size_t gradients) {
    made_ = {};
    made_.gradients.resize(gradients);
  }
  void add(double StepParts::*part, double seconds) { made_.parts.*part += seconds; }
  void begin(std::uint32_t gradient, double now) { made_.gradients[gradient].sync_s = -now; }
  void finish(std::uint32_t gradient, double now) { made_.gradients[gradient].sync_s += now; }
  /// Training stood still for `gradient`.
  void wait(std::uint32_t gradient, double seconds) {
    made_.parts.waiting_s += seconds;
    made_.gradients[gradient].waiting_s = seconds;
  }
  void add_messages(double messages) { made_.messages_per_rank += messages; }
  void add_bytes(double bytes) { made_.wire_bytes_per_rank += bytes; }
  void end_step(double now) { made_.step_s = now; }
  double step_s() const { return made_.step_s; }

  /// All of it, of a training of `training_s` seconds alone; once.
  Simulation take(double training_s, std::uint64_t tasks) {
    made_.parts.training_s = training_s;
    made_.parts.exposed_s = made_.step_s - training_s;
    made_.tasks = tasks;
    made_.by = SimulatedBy::kOneRank;
    return std::move(made_);
  }

 private:
  Simulation made_;
};

}  // namespace casync::one_rank
