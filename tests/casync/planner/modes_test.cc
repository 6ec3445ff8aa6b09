// SPDX-License-Identifier: Apache-2.0
//
// Local SGD and staleness as choices of the planner.
#include <algorithm>
#include <catch2/catch.hpp>

#include "casync/planner/loss_table.h"
#include "casync/planner/search/modes.h"
#include "tests/casync/planner/requests.h"
#include "tests/casync/simulator/scenarios.h"

namespace casync {
namespace {

using namespace test;

SyncMode local(std::uint32_t every) { return {.every = every}; }
SyncMode late(std::uint32_t steps) { return {.staleness = steps}; }

const std::vector<ModeOffer>& offers() {
  static const std::vector<ModeOffer> all{{local(2), 0}, {local(8), 0.3}, {late(1), 0.05}, {late(2), 0.2}};
  return all;
}

/// Exchanges take longer than the training.
PlanRequest slow_request() {
  Profile slower = slow_network();
  slower.between.wire = Curve::affine(1e-6, 8e-8);
  PlanRequest made = request(4, 1, slower);
  made.more_steps = [](const CodecChoice& first, const CodecChoice&) { return first.name == "byte" ? 0.1 : 0.0; };
  return made;
}

std::vector<ModePlan> better(const PlanRequest& request, const std::vector<ModeOffer>& offers) {
  Result<std::vector<ModePlan>> found = better_modes(request, test::found(request), offers);
  REQUIRE(found.status().text() == "OK");
  return std::move(*found);
}

}  // namespace

TEST_CASE("modes: the ones that take less time to the same loss come, the least first, as they are searched alone") {
  const PlanRequest slow = slow_request();
  const PlanReport bulk = found(slow);
  const std::vector<ModePlan> plans = better(slow, offers());
  REQUIRE(plans.size() >= 2);
  double last = 0;
  for (const ModePlan& plan : plans) {
    const auto offer =
        std::find_if(offers().begin(), offers().end(), [&](const ModeOffer& one) { return one.mode == plan.mode; });
    REQUIRE(offer != offers().end());
    CHECK(plan.steps == Approx((1 + offer->more_steps) * plan.report.steps));
    CHECK(plan.cost_s() < 0.99 * bulk.steps * bulk.simulation.step_s);
    CHECK(plan.cost_s() >= last);
    last = plan.cost_s();
    PlanRequest alone = slow;
    alone.mode = plan.mode;
    CHECK(found(alone).simulation.step_s == plan.report.simulation.step_s);
  }
  // Exchanges take most of the time: an eighth of them is better than all of them while a short training goes on.
  CHECK(plans.front().mode == local(8));
}

TEST_CASE("modes: a late result makes the same step however late, so that only the steps to the loss decide") {
  std::vector<ModePlan> plans = better(slow_request(), {{late(2), 0}, {late(1), 0}});
  REQUIRE(plans.size() == 2);
  CHECK(plans[0].mode == late(2));  // the earlier offer
  CHECK(plans[0].cost_s() == plans[1].cost_s());
}

TEST_CASE("modes: a later result makes another step if ranks are not alike, as it is searched alone") {
  PlanRequest unequal = slow_request();
  unequal.training.jitter = 1;
  const std::vector<ModePlan> plans = better(unequal, {{late(1), 0}, {late(4), 0}});
  REQUIRE(plans.size() == 2);
  for (const ModePlan& plan : plans) {
    PlanRequest alone = unequal;
    alone.mode = plan.mode;
    CHECK(found(alone).simulation.step_s == plan.report.simulation.step_s);
  }
  CHECK(plans[0].report.simulation.step_s != plans[1].report.simulation.step_s);
}

TEST_CASE("modes: none where exchanges are hidden, or where it takes too many steps") {
  PlanRequest hidden = slow_request();
  hidden.profile.between.wire = hidden.profile.inside.wire = Curve::affine(0, 1e-13);
  hidden.profile.between.latency_s = hidden.profile.inside.latency_s = 0;
  hidden.profile.contention = {};
  hidden.profile.launch_s = 0;
  CHECK(better(hidden, offers()).empty());
  CHECK(better(slow_request(), {{local(8), 1e3}}).empty());
  PlanRequest strict = slow_request();
  strict.most_more_steps = 0.04;
  const std::vector<ModePlan> plans = better(strict, offers());
  CHECK(plans.size() == 1);
  for (const ModePlan& plan : plans) CHECK(plan.mode == local(2));
}

TEST_CASE("modes: not with a mode that is asked for, nor without a number of steps, nor with what they refuse") {
  PlanRequest other = slow_request();
  other.mode = late(1);
  CHECK(better(other, offers()).empty());
  other = slow_request();
  other.more_steps = nullptr;
  CHECK(better(other, offers()).empty());
  other = slow_request();
  other.training.gradients.front().spec.shape = {4096};  // equal shards
  other.training.gradients.front().spec.scattered = true;
  CHECK(better(other, offers()).empty());
  other = slow_request();
  Limits limits;
  limits.offers = {0};
  limits.codec = limits.second_hop = CodecChoice{"half", {}};
  limits.warm_up_steps = 10;
  limits.warm_up_from = WarmUpFrom{"ratio", 0.5};
  other.limits = all_alike(other, limits);
  const std::vector<ModePlan> plans = better(other, {{local(2), 0}, {late(1), 0}});
  REQUIRE(plans.size() == 1);
  CHECK(plans[0].mode == late(1));
}

TEST_CASE("loss table: a mode counts like the trained one with as many steps or more that needs fewest") {
  CHECK(more_steps(SyncMode{}) == 0.0);
  CHECK(more_steps(SyncMode{.every = 4, .neighbours = Neighbours::kRing}) == std::nullopt);
  CHECK(more_steps(local(1'000'000)) == std::nullopt);
  CHECK(more_steps(late(kMostStaleness)) == std::nullopt);
  double before = 0;
  for (std::uint32_t every = 1; more_steps(local(every)); ++every) {
    CHECK(*more_steps(local(every)) >= before);
    before = *more_steps(local(every));
  }
  for (const SyncMode& mode : trained_modes()) {
    CHECK(mode.is_local() != (mode.staleness > 0));
    REQUIRE(more_steps(mode).has_value());
    CHECK(*more_steps(mode) >= 0);
    SyncMode later = mode;
    later.from_step = 1000;
    CHECK(more_steps(later) == more_steps(mode));
  }
}

}  // namespace casync
