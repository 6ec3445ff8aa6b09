// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "casync/simulator/simulate.h"

namespace casync {

/// Ten seconds and a gigabyte: 4,096 symmetric ranks with 400 gradients, each in a partition for each rank, are ten
/// million.
inline constexpr std::uint64_t kAffordableTasks = 12'000'000;

/// simulate() where no more tasks than this are to be simulated of ranks that stand for all, or a third of that of all
/// ranks, whose tasks take up to three times as long: no cache holds so many ranks. Else, as Simulation::by says then,
/// simulate_one_rank(). Errors as these.
Result<Simulation> simulate_within(std::uint64_t tasks, const Scenario& scenario, const SimulationOptions& options);

}  // namespace casync
