// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "casync/model/plan.h"
#include "casync/simulator/simulate.h"
#include "casync/simulator/training.h"

namespace casync {

/// A training as its exchanges see it: from one to the next are `steps` steps, which here are one.
struct Exchanges {
  Training training;
  int steps = 1;
};

/// Every step: the training itself. One step late (staleness): all gradients begin together where a step ends, and are
/// needed where the next one does; the forward pass comes first. Local SGD: `every` steps of which the last one's end
/// has all differences at once, and waits for them.
Exchanges exchanges_of(const Training& training, const SyncMode& mode);

/// What was simulated from one exchange to the next, as the mean of so many steps.
Simulation mean_of_steps(Simulation simulation, int steps);

}  // namespace casync
