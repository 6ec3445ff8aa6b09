// SPDX-License-Identifier: Apache-2.0
//
// Plans that may use a codec which exchanges within a step.
#include <algorithm>
#include <catch2/catch.hpp>

#include "casync/planner/search/options.h"
#include "casync/planner/search/search.h"
#include "tests/casync/planner/requests.h"
#include "tests/casync/simulator/scenarios.h"

namespace casync {
namespace {

PlanRequest with_low(int ranks, const Profile& profile) {
  PlanRequest request = test::transformer(ranks, 1, profile, 12);
  request.codecs.push_back({{"low", {}}, 0.5});
  request.facts_of = [](const CodecChoice& choice) -> Result<CodecFacts> {
    if (choice.name != "low") return test::facts_of(choice);
    return CodecFacts{"low", {true, 0.1, false}, false, 0, [](Elements rows, Elements columns) {
                        return RoundsFacts{{2 * rows, 2 * columns}, rows * columns};
                      }};
  };
  return request;
}

bool is_low(const Decision& decision) { return decision.codec.name == "low" || decision.second_hop.name == "low"; }

}  // namespace

TEST_CASE("planner: a codec of rounds is an alternative for matrices, on both hops or not at all") {
  const PlanRequest request = with_low(4, test::awkward());
  Evaluator evaluator(request);
  for (std::size_t g = 0; g < 8; ++g) {
    const auto options = all_options(evaluator, g);
    REQUIRE(options.status().text() == "OK");
    std::size_t found = 0;
    for (const Option* option : *options) {
      if (!is_low(option->decision)) continue;
      CHECK(option->decision.codec == option->decision.second_hop);
      ++found;
    }
    INFO("gradient " << g);
    CHECK((found != 0) == (request.training.gradients[g].spec.shape.size() == 2));
  }
}

TEST_CASE("planner: on a slow network matrices go by the codec of rounds, vectors do not") {
  Profile slow = test::awkward();
  for (Curve::Point& point : slow.between.wire.points) point.seconds *= 30;
  const PlanRequest request = with_low(4, slow);
  const Result<PlanReport> made = find_plan(request);
  REQUIRE(made.status().text() == "OK");
  std::size_t matrices = 0;
  for (std::size_t g = 0; g < request.training.gradients.size(); ++g) {
    const bool matrix = request.training.gradients[g].spec.shape.size() == 2;
    matrices += matrix && is_low(made->step.decisions[g]) ? 1 : 0;
    if (!matrix) CHECK(!is_low(made->step.decisions[g]));
  }
  CHECK(matrices > 0);
  CHECK(made->compared.size() >= 12);
  for (const PlanReport::Compared& reference : made->compared) CHECK(made->simulation.step_s <= reference.step_s);
}

TEST_CASE("planner: a codec of rounds is for the others where one gradient is scattered") {
  Profile slow = test::awkward();
  for (Curve::Point& point : slow.between.wire.points) point.seconds *= 30;
  PlanRequest request = with_low(4, slow);
  request.training.gradients[0].spec.scattered = true;
  REQUIRE(request.training.gradients[0].spec.shape.size() == 2);
  const Result<PlanReport> made = find_plan(request);
  REQUIRE(made.status().text() == "OK");
  CHECK(!is_low(made->step.decisions[0]));
  CHECK(std::any_of(made->step.decisions.begin(), made->step.decisions.end(), is_low));
}

TEST_CASE("planner: a codec of rounds is left out where servers are dedicated, unless somebody fixes it") {
  PlanRequest request = with_low(4, test::awkward());
  Limits limits;
  limits.offers = {0, 1, 2};
  limits.strategy = StrategyKind::kPs;
  limits.servers = Servers{1, true};
  request.limits = test::all_alike(request, limits);
  const Result<PlanReport> made = find_plan(request);
  REQUIRE(made.status().text() == "OK");
  CHECK(std::none_of(made->step.decisions.begin(), made->step.decisions.end(), is_low));
  request.limits[0].codec = CodecChoice{"low", {}};
  CHECK(find_plan(request).status().text().starts_with("PlanError: gradient layer0: codec `low` has exchanges"));
}

}  // namespace casync
