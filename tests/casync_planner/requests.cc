// SPDX-License-Identifier: Apache-2.0
#include "tests/casync_planner/requests.h"

#include "tests/casync_simulator/scenarios.h"

namespace casync::test {

PlanRequest request(int ranks, int per_node, const Profile& profile, int gradients) {
  Scenario scenario = several(ranks, per_node, {}, profile, gradients);
  PlanRequest request;
  request.topology = std::move(scenario.topology);
  request.profile = profile;
  request.training = std::move(scenario.training);
  request.facts_of = facts_of;
  request.codecs = {{{"half", {}}, 1e-6}, {{"byte", {}}, 1e-4}};
  return request;
}

PlanRequest transformer(int ranks, int per_node, const Profile& profile, int gradients) {
  PlanRequest made = request(ranks, per_node, profile, gradients);
  for (std::size_t g = 0; g < made.training.gradients.size(); ++g) {
    made.training.gradients[g].spec.shape =
        g % 4 == 0 ? std::vector<std::int64_t>{1024, 4096} : std::vector<std::int64_t>{1024};
  }
  return made;
}

}  // namespace casync::test
