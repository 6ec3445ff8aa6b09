// SPDX-License-Identifier: Apache-2.0
//
// A plan's rules limit what is allowed, and the planner stays within it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "casync/planner/search/limits.h"
#include "casync/planner/search/options.h"
#include "casync/planner/search/reasons.h"
#include "casync/planner/search/references.h"
#include "casync/planner/search/search.h"
#include "casync/planner/search/written_plan.h"
#include "tests/casync/planner/requests.h"
#include "tests/casync/simulator/scenarios.h"

namespace casync {

using namespace test;

TEST_CASE("planner: limits that allow everything change nothing") {
  for (PlanRequest request : requests()) {
    const PlanReport without = found(request);
    request.limits = all_alike(request, {{}, {}, {0, 1}, {}, {}, {}, {}});
    const PlanReport with = found(request);
    CHECK(with.step.decisions == without.step.decisions);
    CHECK(with.simulation.step_s == without.simulation.step_s);
  }
}

TEST_CASE("planner: steps of warm-up change nothing of the decisions for later steps") {
  for (PlanRequest request : requests()) {
    request.limits = all_alike(request, {{}, {}, {0, 1}, {}, {}, {}, {}});
    const PlanReport without = found(request);
    for (Limits& each : request.limits) each.warm_up_steps = 5;
    const PlanReport with = found(request);
    CHECK(with.step.decisions == without.step.decisions);
    CHECK(with.simulation.step_s == without.simulation.step_s);
  }
}

TEST_CASE("planner: every gradient stays within its own limits, and so does every reference plan") {
  for (PlanRequest request : requests()) {
    CAPTURE(request.topology.ranks);
    Limits nothing, coarse, ring, whole;
    coarse.codec = CodecChoice{"byte", {}};
    coarse.second_hop = CodecChoice{"half", {}};
    ring.offers = {0, 1};
    ring.strategy = StrategyKind::kRing;
    ring.max_error = 0.9e-4;  // one encoding by `byte` has an error of 1e-4
    whole.offers = {1};
    whole.partitions = 3;
    whole.priority = -7;
    request.limits = all_alike(request, nothing);
    for (std::size_t g = 0; g < request.limits.size(); ++g) {
      request.limits[g] = std::vector<Limits>{nothing, coarse, ring, whole}[g % 4];
    }
    const PlanReport report = found(request);
    for (std::size_t g = 0; g < report.step.decisions.size(); ++g) {
      const Decision& decision = report.step.decisions[g];
      CAPTURE(g, text_of(decision));
      switch (g % 4) {
        case 0: CHECK(!compresses(decision)); break;
        case 1:
          CHECK((decision.codec.name == "byte" && decision.second_hop.name == "half"));
          CHECK(report.reason[g].ends_with("its codec is fixed"));
          break;
        case 2:
          CHECK(decision.strategy == StrategyKind::kRing);
          // A ring of more ranks loses more at its hops than the budget.
          CHECK((decision.codec.name != "byte" || request.topology.ranks <= 3));
          break;
        default:
          CHECK(decision.partitions == 3);
          CHECK(decision.priority == -7);
          CHECK((decision.codec.name != "half" && decision.second_hop.name != "half"));
      }
    }
    CHECK(report.compared.size() >= 12);
    for (const PlanReport::Compared& other : report.compared)
      CHECK(report.simulation.step_s <= kAsShort * other.step_s);
  }
}

TEST_CASE("planner: a ring and a tree merge again at each hop what loses no more by that than a gradient may lose") {
  // 16 ranks: 7.5 encodings of a gradient on its way around a ring, 2 up a tree.
  PlanRequest request = test::request(16, 1, slow_network(), 3);
  const auto facts = *request.facts_of({"byte", {}});
  const auto may = [&](double error, std::optional<double> budget, StrategyKind strategy, bool fixed = false) {
    request.codecs[1].error = error;
    Limits limits;
    limits.max_error = budget;
    if (fixed) limits.strategy = strategy;
    return may_merge_again(request, limits, 0, {"byte", {}}, facts.traits, strategy);
  };
  CHECK(may(1e-3, 8e-3, StrategyKind::kRing));
  CHECK_FALSE(may(1e-3, 7e-3, StrategyKind::kRing));
  CHECK(may(1e-3, 7e-3, StrategyKind::kTree));
  CHECK_FALSE(may(1e-3, 1.9e-3, StrategyKind::kTree));
  CHECK(may(1e-3, 1e-3, StrategyKind::kPs));
  CHECK(may(3e-3, std::nullopt, StrategyKind::kRing));  // nobody says: 0.03
  CHECK_FALSE(may(5e-3, std::nullopt, StrategyKind::kRing));
  CHECK(may(0.5, std::nullopt, StrategyKind::kRing, true));
  CHECK_FALSE(may(0.5, 0.5, StrategyKind::kRing, true));
  request.codecs[1].recorded = {1e-5};
  CHECK(may(5e-3, std::nullopt, StrategyKind::kRing));  // its recorded error counts
  request.topology = Topology::flat(3);
  request.codecs[1].recorded.clear();
  CHECK(may(0.5, 0.5, StrategyKind::kRing));  // one encoding in the mean, as with ps
  CHECK_FALSE(
      may_merge_again(test::request(16, 1, slow_network()), {}, 0, {"unknown", {}}, facts.traits, StrategyKind::kRing));
}

TEST_CASE("planner: a plan within a budget has no ring whose hops together lose more") {
  PlanRequest request = test::transformer(16, 1, slow_network(), 5);
  Limits limits;
  limits.offers = {1};
  limits.strategy = StrategyKind::kRing;
  limits.max_error = 7e-4;
  request.limits = all_alike(request, limits);
  for (const Decision& decision : found(request).step.decisions) CHECK(decision.codec.name == "none");
  for (Limits& each : request.limits) each.max_error = 8e-4;
  const std::vector<Decision> decisions = found(request).step.decisions;
  CHECK(std::any_of(decisions.begin(), decisions.end(), [](const Decision& d) { return d.codec.name == "byte"; }));
}

TEST_CASE("planner: warm-up, residual memory and seed of the rules are in the plan") {
  PlanRequest request = test::request(4, 1, slow_network());
  Limits limits;
  limits.codec = CodecChoice{"byte", {}};
  request.limits = all_alike(request, limits);
  request.limits[0].warm_up_steps = 5;
  request.limits[0].warm_up_from = WarmUpFrom{"ratio", 0.25};
  request.limits[0].residual_memory = ResidualMemory::kOneBuffer;
  request.warm_up_steps = 9;
  request.seed = 77;
  const Plan plan = written_plan(request, found(request).step, "");
  CHECK(plan.seed == 77);
  CHECK(plan.gradients[0].choice.warm_up_steps == 5u);
  CHECK(plan.gradients[0].choice.warm_up_from == WarmUpFrom{"ratio", 0.25});
  CHECK(plan.gradients[0].choice.residual_memory == ResidualMemory::kOneBuffer);
  CHECK(plan.gradients[1].choice.warm_up_steps == 9u);
  CHECK_FALSE(plan.gradients[1].choice.residual_memory);
  CHECK(!plan.gradients[1].choice.warm_up_from);
}

TEST_CASE("planner: servers that rules name are in the plan, with strategy ps, and the simulator prices them") {
  PlanRequest request = test::request(4, 1, slow_network());
  Plan rules;
  rules.rules = {{"layer1*", {.servers = Servers{1, true}}},
                 {"layer2", {.strategy = StrategyKind::kRing}},
                 {"*", {.servers = Servers{2, false}}}};
  const Offers offers{request.codecs, request.codecs.size(), kAnyError};
  request.limits = limits_of(rules, request.training, 4, offers);
  CHECK(request.limits[1].servers == Servers{1, true});
  CHECK(request.limits[1].strategy == StrategyKind::kPs);
  CHECK_FALSE(request.limits[2].servers);
  CHECK(request.limits[3].servers == Servers{2, false});
  const PlanReport report = found(request);
  const Plan plan = written_plan(request, report.step, "");
  for (std::size_t g = 0; g < report.step.decisions.size(); ++g) {
    const Decision& decision = report.step.decisions[g];
    CAPTURE(g, text_of(decision));
    if (g == 2) {
      CHECK(decision.strategy == StrategyKind::kRing);
      CHECK_FALSE(plan.gradients[g].choice.servers);
      continue;
    }
    CHECK(decision.strategy == StrategyKind::kPs);
    CHECK(decision.servers == *request.limits[g].servers);
    CHECK(plan.gradients[g].choice.servers == request.limits[g].servers);
    CHECK(text_of(decision).find(g == 1 || g > 9 ? "ps with 1 dedicated server" : "ps with 2 servers") !=
          std::string::npos);
  }
  for (const PlanReport::Compared& other : report.compared) CHECK(report.simulation.step_s <= kAsShort * other.step_s);
  // One server for all is a narrow place, which the same request without it does not have.
  PlanRequest narrow = request, free = request;
  Limits limits;
  limits.strategy = StrategyKind::kPs;
  free.limits = all_alike(request, limits);
  limits.servers = Servers{1, false};
  narrow.limits = all_alike(request, limits);
  CHECK(found(narrow).simulation.step_s > 1.2 * found(free).simulation.step_s);
}

TEST_CASE("planner: more servers than ranks are refused with the gradient's name") {
  PlanRequest request = test::request(4, 1, slow_network());
  request.limits = all_alike(request, {});
  request.limits[5].strategy = StrategyKind::kPs;
  request.limits[5].servers = Servers{5, false};
  CHECK(find_plan(request).status().text() ==
        "PlanError: gradient layer5: 5 servers in a group of 4 ranks, expected 1 to 4");
}

TEST_CASE("planner: fixed choices that do not go together are refused with the gradient's name") {
  PlanRequest request = test::request(4, 1, slow_network());
  Limits limits;
  limits.codec = CodecChoice{"byte", {}};
  limits.second_hop = CodecChoice{"half", {}};
  limits.strategy = StrategyKind::kAllGather;
  request.limits = all_alike(request, {});
  request.limits[3] = limits;
  CHECK(find_plan(request).status().text().starts_with(
      "PlanError: gradient layer3: strategy `all_gather` has one hop only"));
  request.limits[3].codec = CodecChoice{"zip", {}};
  CHECK(find_plan(request).status().text() == "InvalidArgument: no codec zip");
  request.limits.pop_back();
  CHECK(find_plan(request).status().text() == "InvalidArgument: limits of 11 gradients, and there are 12");
}

TEST_CASE("planner: a plan's rules become limits, gradient by gradient") {
  PlanRequest request = test::request(4, 1, slow_network(), 5);
  const Offers offers{{{{"half", {}}, 1e-6}, {{"byte", {}}, 1e-2}, {{"special", {}}, 1e-3}}, 2, 1e-4};
  Plan rules;
  rules.gradients = {{"layer0", {.max_error = 0.02}}, {"layer1", {.strategy = StrategyKind::kTree, .partitions = 2}}};
  rules.rules = {{"layer2", {.allowed = {{"byte", {}}, {"special", {}}, {"unknown", {}}}}},
                 {"*3",
                  {.codec = CodecChoice{"half", {}},
                   .priority = 1,
                   .warm_up_steps = 4,
                   .residual_memory = ResidualMemory::kOneBuffer}},
                 {"*4", {.max_error = 5e-3, .allowed = {{"byte", {}}, {"special", {}}}}}};
  const std::vector<Limits> limits = limits_of(rules, request.training, 4, offers);
  using Offered = std::vector<std::size_t>;
  REQUIRE(limits.size() == 5);
  CHECK(limits[0].offers == Offered{0, 1});  // `special` is for who names it
  CHECK(limits[1].offers == Offered{0});     // nothing said: what holds otherwise
  CHECK(limits[1].strategy == StrategyKind::kTree);
  CHECK(limits[1].partitions == 2);
  CHECK_FALSE(limits[0].strategy);
  CHECK_FALSE(limits[0].partitions);
  CHECK(limits[2].offers == Offered{1, 2});
  CHECK(limits[3].codec == CodecChoice{"half", {}});
  CHECK(limits[3].second_hop == CodecChoice{"half", {}});
  CHECK(limits[3].offers.empty());
  CHECK(limits[3].priority == 1);
  CHECK(limits[3].warm_up_steps == 4u);
  CHECK(limits[3].residual_memory == ResidualMemory::kOneBuffer);
  CHECK_FALSE(limits[4].residual_memory);
  CHECK(limits[4].offers == Offered{2});
}

TEST_CASE("planner: a recorded gradient's own loss decides whether a codec is within a budget") {
  PlanRequest request = test::request(4, 1, slow_network(), 4);
  for (TrainedGradient& gradient : request.training.gradients) gradient.spec.shape = {1 << 20};
  const std::optional<double> unknown;
  Offers offers{
      {{{"half", {}}, 1e-6, {1e-6, 0.5, unknown, 1e-6}}, {{"byte", {}}, 1e-2, {1e-4, 1e-4, unknown, 3.0}}}, 2, 1e-3};
  Plan rules;
  rules.gradients = {{"layer0", {.max_error = 2e-6}}, {"layer3", {.allowed = {{"byte", {}}}}}};
  const std::vector<Limits> limits = limits_of(rules, request.training, 4, offers);
  using Offered = std::vector<std::size_t>;
  CHECK(limits[0].offers == Offered{0});
  CHECK(limits[1].offers == Offered{1});  // with typical values `byte` would lose too much, and `half` would not
  CHECK(limits[2].offers == Offered{0});  // not recorded: by typical values
  CHECK(limits[3].offers == Offered{1});  // named without a budget: whatever it loses

  request.codecs = offers.codecs;
  request.limits = limits;
  const PlanReport report = found(request);
  CHECK(report.step.decisions[1].codec.name == "byte");
  CHECK(report.reason[1].ends_with("; loses 0.0001 of it"));
  CHECK(report.reason[2].find("loses") == std::string::npos);
}

TEST_CASE("planner: somebody else's decision is allowed, or breaks one of the limits") {
  const std::vector<CodecOffer> codecs{{{"half", {}}, 1e-6}, {{"byte", {}}, 1e-2}};
  const CodecChoice none, half{"half", {}}, byte{"byte", {}};
  const Decision plain{none, none, StrategyKind::kRing, 3, 7, 2}, halves{half, half, StrategyKind::kPs, 1, 0, 0},
      mixed{byte, half, StrategyKind::kPs, 1, 0, 0};
  Limits one;
  one.offers = {0};
  CHECK(allows(one, codecs, plain));
  CHECK(allows(one, codecs, halves));
  CHECK_FALSE(allows(one, codecs, mixed));
  one.second_hop = half;
  CHECK_FALSE(allows(one, codecs, plain));
  CHECK(allows(one, codecs, halves));
  Limits fixed;
  fixed.codec = byte;
  CHECK_FALSE(allows(fixed, codecs, mixed));
  fixed.second_hop = half;
  CHECK(allows(fixed, codecs, mixed));
  CHECK_FALSE(allows(fixed, codecs, plain));
  for (int field = 0; field < 5; ++field) {
    Limits other;
    if (field == 0) other.strategy = StrategyKind::kPs;
    if (field == 1) other.partitions = 4;
    if (field == 2) other.priority = 6;
    if (field == 3) other.warm_up_steps = 3;
    if (field == 4) other.servers = Servers{1, false};
    CHECK_FALSE(allows(other, codecs, plain));
  }
  Limits same;
  same.strategy = StrategyKind::kRing;
  same.partitions = 3;
  same.priority = 7;
  same.warm_up_steps = 2;
  CHECK(allows(same, codecs, plain));
}

}  // namespace casync
