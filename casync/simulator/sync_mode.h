// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "casync/model/plan.h"
#include "casync/simulator/simulate.h"
#include "casync/simulator/training.h"

namespace casync {

/// The number of steps from one exchange to the next.
int steps_of_exchange(const SyncMode& mode);

/// A training from one exchange to the next: `steps` steps, which are one step here.
struct Exchanges {
  Training training;
  int steps = 1;
};

/// Every step: the training itself. One step late (staleness): all gradients begin together when a step ends, and are
/// needed when the next one does; the forward pass comes first. A larger staleness is the same, since equal ranks gain
/// nothing by it; where ranks differ, the engine lets a step wait for its own result (late_exchanges.h). Local SGD:
/// `every` steps; the end of the last one has all differences at once, and waits for them.
Exchanges exchanges_of(const Training& training, const SyncMode& mode);

/// Converts a simulation from one exchange to the next into the mean of `steps` steps. Ranks' paces count steps then.
Simulation mean_of_steps(Simulation simulation, int steps);

}  // namespace casync
