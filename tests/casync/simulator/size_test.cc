// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "tests/casync/simulator/scenarios.h"

namespace casync {

TEST_CASE("simulator: 64 ranks with 400 gradients") {
  // 25 million elements, 1600 partitions: the size of a common image model.
  const Decision decision{{"byte", {}}, {"byte", {}}, StrategyKind::kPs, 4, 0};
  Scenario scenario = test::several(64, 8, decision, test::awkward(), 400);
  for (std::size_t g = 0; g < scenario.training.gradients.size(); ++g) {
    scenario.training.gradients[g].spec.shape = {g % 2 == 0 ? 1000 : 125000};
  }
  scenario.fusion_bytes = 64_KiB;
  const Simulation simulation = test::simulated(scenario);
  CHECK(simulation.tasks == 1600u * (63 * 4 + 63 * 2 + 2));
  CHECK(simulation.step_s > 0.03);
}

}  // namespace casync
