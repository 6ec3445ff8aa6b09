// SPDX-License-Identifier: Apache-2.0
#include "tests/casync/planner/requests.h"

#include <catch2/catch.hpp>
#include <utility>

#include "tests/casync/simulator/scenarios.h"

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

Profile slow_network() {
  Profile profile = awkward();
  profile.between.wire = Curve::affine(1e-6, 8e-9);
  return profile;
}

std::vector<PlanRequest> requests() {
  return {request(2, 1, awkward()), request(4, 1, slow_network()), request(6, 2, slow_network()),
          request(8, 4, awkward()), request(3, 3, awkward()),      request(16, 1, slow_network(), 5)};
}

std::vector<Limits> all_alike(const PlanRequest& request, const Limits& limits) {
  return std::vector<Limits>(request.training.gradients.size(), limits);
}

PlanReport found(const PlanRequest& request) {
  Result<PlanReport> report = find_plan(request);
  REQUIRE(report.status().text() == "OK");
  REQUIRE(report->step.decisions.size() == request.training.gradients.size());
  REQUIRE(report->reason.size() == request.training.gradients.size());
  return std::move(*report);
}

}  // namespace casync::test
