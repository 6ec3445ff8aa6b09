// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/simulate_within.h"

#include "casync/simulator/checks.h"
#include "casync/simulator/one_rank.h"
#include "casync/simulator/symmetry.h"

namespace casync {

Result<Simulation> simulate_within(std::uint64_t tasks, const Scenario& scenario, const SimulationOptions& options) {
  CASYNC_RETURN_IF_ERROR(check_scenario(scenario, options));
  if (scenario.mode.is_gossip() || scenario.mode.is_asynchronous()) return simulate(scenario, options);
  const Result<Symmetry> symmetry = symmetry_of(scenario, options);
  if (!symmetry) return symmetry.status();
  const Result<double> most = tasks_at_most(scenario, *symmetry);
  if (!most) return most.status();
  const double affordable = static_cast<double>(tasks) / (symmetry->is_trivial() ? 3 : 1);
  return *most <= affordable ? simulate(scenario, options) : simulate_one_rank(scenario, options);
}

}  // namespace casync
