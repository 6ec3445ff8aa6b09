// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/sync_mode.h"

namespace casync {

int steps_of_exchange(const SyncMode& mode) {
  return mode.is_local() && mode.staleness == 0 ? static_cast<int>(mode.every) : 1;
}

Exchanges exchanges_of(const Training& training, const SyncMode& mode) {
  Exchanges made{training, steps_of_exchange(mode)};
  const double step_s = training.backward_s + training.forward_s;
  if (mode.staleness > 0) {
    made.training.backward_s = 0;
    made.training.forward_s = step_s;
    for (TrainedGradient& gradient : made.training.gradients) {
      gradient.ready_s = 0;
      gradient.need_s = step_s;
    }
  } else if (mode.is_local()) {
    made.training.backward_s += (made.steps - 1) * step_s;
    for (TrainedGradient& gradient : made.training.gradients) {
      gradient.ready_s = made.training.backward_s;
      gradient.need_s = 0;
    }
  }
  return made;
}

Simulation mean_of_steps(Simulation simulation, int steps) {
  StepParts& parts = simulation.parts;
  for (double* value :
       {&simulation.step_s, &parts.training_s, &parts.encode_s, &parts.merge_s, &parts.decode_s, &parts.copies_s,
        &parts.tasks_s, &parts.wire_s, &parts.messages_s, &parts.processor_s, &parts.waiting_s, &parts.exposed_s,
        &simulation.wire_bytes_per_rank, &simulation.messages_per_rank}) {
    *value /= steps;
  }
  for (RankPace& pace : simulation.ranks) {
    pace.step_s /= steps;
    pace.steps *= steps;
    pace.most_ahead *= steps;
    pace.mean_ahead *= steps;
  }
  for (GradientTimes& times : simulation.gradients) {
    times.sync_s /= steps;
    times.waiting_s /= steps;
    for (double* part : {&times.work.encode_s, &times.work.merge_s, &times.work.decode_s}) *part /= steps;
  }
  return simulation;
}

}  // namespace casync
