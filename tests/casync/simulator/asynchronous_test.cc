// SPDX-License-Identifier: Apache-2.0
//
// Ranks that do not step together: closed forms of their paces, and owners that tell everyone everything.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "casync/simulator/answering_owners.h"
#include "casync/simulator/asynchronous_tasks.h"
#include "casync/simulator/rank_steps.h"
#include "tests/casync/simulator/scenarios.h"

namespace casync {
namespace {

using namespace test;

constexpr double kPass = 0.01;  // of a rank that is not slow: a backward and a forward pass each

/// A network and codecs that take nothing, and ranks whose steps take so many times 2 x kPass.
Scenario of_paces(const std::vector<double>& factors, const Asynchronous& rule) {
  const Decision decision{{"byte", {}}, {"byte", {}}, StrategyKind::kPs, 3, 0};
  Scenario scenario = one_gradient(static_cast<int>(factors.size()), 1000, decision, ideal(0));
  scenario.mode.asynchronous = rule;
  scenario.training.backward_s = scenario.training.forward_s = kPass;
  scenario.training.gradients[0].ready_s = kPass;
  for (std::size_t rank = 0; rank < factors.size(); ++rank) {
    scenario.training.slow.push_back({static_cast<Rank>(rank), factors[rank]});
  }
  return scenario;
}

/// Begins and ends a batch of partition 0, which is due, at a float in a second. Returns the number of floats that each
/// of its elements takes.
double floats_of_batch(AnsweringOwners& owners) {
  REQUIRE(owners.begin_batch(0));
  for (const Rank rank : owners.finish(0)) owners.left(0, rank);
  return owners.seconds(0) / static_cast<double>(owners.owned(0).elements);
}

}  // namespace

TEST_CASE("asynchronous: without a bound each rank's step is its own computing") {
  const Simulation made = simulated(of_paces({1, 2.5, 4}, {}));
  REQUIRE(made.ranks.size() == 3);
  CHECK(made.ranks[0].step_s == Approx(2 * kPass));
  CHECK(made.ranks[1].step_s == Approx(5 * kPass));
  CHECK(made.ranks[2].step_s == Approx(8 * kPass));
  CHECK(made.ranks[2].steps >= kLeastDrawnSteps);
  CHECK(made.ranks[0].most_ahead > 100);
  CHECK(made.ranks[2].most_ahead == 0);
  // The ranks end 1/2 + 1/5 + 1/8 steps in kPass, and there are three.
  CHECK(made.step_s == Approx(3 / (1 / 2.0 + 1 / 5.0 + 1 / 8.0) * kPass));
}

TEST_CASE("asynchronous: with a bound a fast rank gets so far ahead and goes at the slowest one's pace") {
  for (const std::uint32_t bound : {1u, 3u, 8u}) {
    const Simulation made = simulated(of_paces({1, 2, 3}, {.bound = bound}));
    INFO(bound);
    REQUIRE(made.ranks.size() == 3);
    for (const RankPace& pace : made.ranks) CHECK(pace.step_s == Approx(6 * kPass).epsilon(1e-3));
    CHECK(made.ranks[0].most_ahead == static_cast<int>(bound));
    CHECK(made.ranks[1].most_ahead == static_cast<int>(bound));
    CHECK(made.ranks[2].most_ahead == 0);
    CHECK(made.ranks[0].mean_ahead > 0);
    CHECK(made.ranks[0].mean_ahead <= bound);
  }
}

TEST_CASE("asynchronous: the first K ranks go at the pace of the K-th fastest") {
  const std::vector<double> factors = {4, 1, 3, 1.5};
  const std::vector<double> sorted = {1, 1.5, 3, 4};
  for (std::uint32_t first = 1; first <= 4; ++first) {
    const Simulation made = simulated(of_paces(factors, {.bound = std::nullopt, .first = first}));
    const double kth = sorted[first - 1];
    for (std::size_t rank = 0; rank < factors.size(); ++rank) {
      INFO("first " << first << ", rank " << rank);
      // A step may begin when the K-th fastest has contributed to the previous one, and a forward pass has gone by.
      CHECK(made.ranks[rank].step_s == Approx(2 * kPass * std::max(kth, factors[rank])).epsilon(0.02));
    }
  }
}

TEST_CASE("asynchronous: bound 0, and all ranks as the first, are bulk synchronous steps") {
  const std::vector<double> factors = {1, 2, 1.25};
  Scenario together = of_paces(factors, {});
  together.mode = {};
  const double step_s = simulated(together, {.steps = 8}).step_s;
  CHECK(simulated(of_paces(factors, {.bound = 0})).step_s == Approx(step_s));
  CHECK(simulated(of_paces(factors, {.bound = std::nullopt, .first = 3})).step_s == Approx(step_s));
}

TEST_CASE("asynchronous: equal ranks with bound 0 pay for messages and codecs as under ps") {
  for (const double seconds_per_byte : {1e-9, 1e-7}) {
    Scenario scenario = several(4, 1, {{"byte", {}}, {"byte", {}}, StrategyKind::kPs, 4, 0}, awkward());
    scenario.profile.contention = Contention::of_all(1);
    scenario.profile.between.wire = Curve::affine(1e-6, seconds_per_byte);
    const Simulation together = simulated(scenario);
    scenario.mode.asynchronous = Asynchronous{.bound = 0};
    const Simulation made = simulated(scenario);
    CHECK(made.wire_bytes_per_rank == Approx(together.wire_bytes_per_rank));
    CHECK(made.step_s == Approx(together.step_s).epsilon(0.1));  // contributions are added more often
    CHECK(made.parts.encode_s == Approx(together.parts.encode_s));
  }
}

TEST_CASE("asynchronous: everything that a profile may say is paid, and the same seed gives the same result") {
  Scenario scenario = several(5, 2, {{"half", {}}, {"byte", {}}, StrategyKind::kPs, 3, 0}, crowded());
  scenario.mode.asynchronous = Asynchronous{.bound = 2, .first = 2};
  scenario.fusion_bytes = 64 * 1024;
  scenario.credit_bytes = 20'000;
  scenario.training.jitter = 0.5;
  const Simulation one = simulated(scenario, {.spans = true}), again = simulated(scenario);
  CHECK(one.step_s == again.step_s);
  CHECK(one.step_s > 0.03);
  CHECK(one.ranks.size() == 5);
  for (const RankPace& pace : one.ranks) CHECK(pace.most_ahead <= 2);
  CHECK(!one.spans.empty());
}

TEST_CASE("asynchronous: nobody waits for dedicated servers, and they own all partitions") {
  Scenario scenario = of_paces({1, 2, 9}, {});
  scenario.decisions[0].servers = {1, true};
  REQUIRE(contributing_ranks(scenario) == std::vector<bool>{true, true, false});
  const Simulation made = simulated(scenario);
  CHECK(made.ranks[0].step_s == Approx(2 * kPass));
  CHECK(made.ranks[1].step_s == Approx(4 * kPass));
  CHECK(made.ranks[2].step_s == Approx(18 * kPass));
  CHECK(made.ranks[1].most_ahead == 0);
  scenario.mode.asynchronous->bound = 1;
  const Simulation bounded = simulated(scenario);
  CHECK(bounded.ranks[0].step_s == Approx(4 * kPass).epsilon(1e-3));
  CHECK(bounded.ranks[0].most_ahead == 1);
}

TEST_CASE("asynchronous: on a GPU a batch copies what comes from other ranks and goes to them") {
  Scenario scenario = of_paces({1, 1}, {});
  const double merge_s = simulated(scenario).parts.merge_s;
  scenario.profile.upload = scenario.profile.download = Curve::affine(0, 1e-6);
  const Simulation made = simulated(scenario);
  // In a step of both ranks the 1000 bytes of the code go up once, and those of the answer down, but for the last one.
  CHECK(made.parts.merge_s - merge_s == Approx(1e-3).epsilon(0.01));
  CHECK(made.parts.copies_s > 0);  // of the ranks' own steps
}

TEST_CASE("asynchronous: a rank alone answers itself") {
  CHECK(simulated(of_paces({1.5}, {.bound = 3})).step_s == Approx(3 * kPass));
}

TEST_CASE("asynchronous: each rank is told every contribution once") {
  Scenario scenario = of_paces({1, 1, 1, 1}, {.bound = 4});
  FlatTasks flat(Symmetry{4, 4});
  AnsweringOwners owners(*scenario.mode.asynchronous, 1e10);
  REQUIRE(add_asynchronous_tasks(scenario, {0}, flat, owners).text() == "OK");
  REQUIRE(owners.size() == 3);
  CHECK(flat.gradients() == 2);
  const std::size_t partition = 0;
  const Rank owner = owners.owned(partition).owner;
  std::mt19937 random(3);
  std::vector<std::uint32_t> step(4);
  std::vector<bool> waits(4);
  std::uint64_t contributed = 0;
  const auto contribute = [&](Rank rank) {
    const auto r = static_cast<std::size_t>(rank);
    waits[r] = true;
    ++contributed;
    if (rank == owner) {
      owners.begin(rank, 0, step[r]++);
    } else {
      owners.contribute(partition, rank, step[r]++);
    }
  };
  const auto check = [&] {
    for (Rank rank = 0; rank < 4; ++rank) {
      CHECK(owners.told(partition).told(rank) + owners.told(partition).untold(rank) == owners.told(partition).taken());
    }
  };
  const auto batch = [&] {
    if (!owners.begin_batch(partition)) return;
    CHECK(owners.seconds(partition) > 0);
    for (const Rank rank : owners.finish(partition)) {
      owners.left(partition, rank);
      waits[static_cast<std::size_t>(rank)] = false;
    }
    check();
  };
  for (int event = 0; event < 400; ++event) {
    const auto rank = static_cast<Rank>(event < 4 ? (owner + event) % 4 : static_cast<int>(random() % 4));
    const auto r = static_cast<std::size_t>(rank);
    if (waits[r]) continue;
    contribute(rank);
    batch();
  }
  // The slowest ranks catch up; then all contribute in turns, and each is told all but what the ones after it add.
  for (int round = 0; round < 12; ++round) {
    for (Rank rank = 0; rank < 4; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      if (waits[r] || step[r] > *std::min_element(step.begin(), step.end())) continue;
      contribute(rank);
      batch();
    }
  }
  CHECK(owners.told(partition).taken() == contributed);
  for (Rank rank = 0; rank < 4; ++rank)
    CHECK(owners.told(partition).untold(rank) == static_cast<std::uint64_t>(3 - rank));
}

TEST_CASE("asynchronous: a batch adds each contribution to the sum of every rank that remains") {
  const Scenario scenario = of_paces({1, 1, 1, 1}, {});
  FlatTasks flat(Symmetry{4, 4});
  AnsweringOwners owners({}, sizeof(float));  // a float in a second
  REQUIRE(add_asynchronous_tasks(scenario, {0}, flat, owners).text() == "OK");
  const Rank owner = owners.owned(0).owner, a = (owner + 1) % 4, b = (owner + 2) % 4, c = (owner + 3) % 4;
  CHECK(owners.begin(owner, 0, 0) == std::vector<std::size_t>{0});
  CHECK(floats_of_batch(owners) == 4 * (3 - 1));
  owners.contribute(0, a, 0);
  owners.contribute(0, b, 0);
  CHECK(floats_of_batch(owners) == 4 * 2 * 3 - 1);  // the owner has been told all: its sum is empty
  owners.begin(owner, 0, 1);
  CHECK(floats_of_batch(owners) == 4 * 3 - 2);
  owners.end(a);
  owners.contribute(0, b, 1);
  CHECK(floats_of_batch(owners) == 3 * 3 - 1);
  owners.end(b);
  owners.contribute(0, c, 0);
  CHECK(floats_of_batch(owners) == 2 * 3);
}

TEST_CASE("asynchronous: a dedicated server is told contributions as others are") {
  Scenario scenario = of_paces({1, 1, 1}, {});
  scenario.decisions[0].partitions = 1;
  scenario.decisions[0].servers = {1, true};
  FlatTasks flat(Symmetry{3, 3});
  AnsweringOwners owners({}, sizeof(float));
  REQUIRE(add_asynchronous_tasks(scenario, {0}, flat, owners).text() == "OK");
  REQUIRE(owners.owned(0).owner == 2);
  owners.contribute(0, 0, 0);
  CHECK(!owners.begin_batch(0));  // the owner has not begun
  owners.begin(2, 0, 0);
  CHECK(floats_of_batch(owners) == 3 * (3 - 1));
  owners.contribute(0, 1, 0);
  CHECK(floats_of_batch(owners) == 3 * 3 - 1);  // answers the server, too
  owners.contribute(0, 0, 1);
  owners.contribute(0, 1, 1);
  CHECK(floats_of_batch(owners) == 3 * 2 * 3 - 2);
  owners.begin(2, 0, 1);
  CHECK(floats_of_batch(owners) == 0);
  owners.contribute(0, 0, 2);
  CHECK(floats_of_batch(owners) == 3 * (3 - 1));
}

TEST_CASE("asynchronous: ranks are as far apart as a look at all of them says") {
  constexpr std::size_t kRanks = 5, kServer = 3;
  constexpr int kSteps = 20;
  std::mt19937 random(9);
  RankSteps steps(kRanks, kSteps, true);
  steps.contributes_nothing(kServer);
  std::vector<int> contributed(kRanks), ended(kRanks), most(kRanks), sum(kRanks);
  bool goes_on = true;
  for (int event = 1; goes_on; ++event) {
    const std::size_t at = random() % kRanks;
    const auto rank = static_cast<Rank>(at);
    steps.contribute(rank);
    ++contributed[at];
    if (event % 7 == 0) continue;  // ends the step with a later one
    steps.end_step(rank, event);
    ++ended[at];
    int least = contributed[0];
    for (std::size_t other = 0; other < kRanks; ++other) {
      if (other != kServer) least = std::min(least, contributed[other]);
    }
    const int ahead = std::max(0, ended[at] - least);
    most[at] = std::max(most[at], ahead);
    sum[at] += ahead;
    goes_on = steps.goes_on(rank);
    REQUIRE(goes_on == (*std::min_element(ended.begin(), ended.end()) < kSteps));
  }
  const std::vector<RankPace> paces = steps.paces();
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    CHECK(paces[rank].steps == ended[rank]);
    CHECK(paces[rank].most_ahead == most[rank]);
    CHECK(paces[rank].mean_ahead == Approx(static_cast<double>(sum[rank]) / ended[rank]));
  }
}

TEST_CASE("asynchronous: gradients that a session refuses are refused by name") {
  Scenario scenario = of_paces({1, 2}, {});
  scenario.decisions[0].strategy = StrategyKind::kRing;
  CHECK(refusal(scenario) ==
        "gradient g: strategy `ring` makes one result for all ranks, and `asynchronous` an answer for each: use "
        "strategy `ps`");
  scenario = of_paces({1, 2}, {});
  scenario.decisions[0].codec = scenario.decisions[0].second_hop = {"vote", {}};
  CHECK(refusal(scenario).find("gradient g: codec `vote` needs the codes of all ranks") == 0);
  scenario = of_paces({1, 2}, {});
  scenario.decisions[0].warm_up_steps = 5;
  CHECK(refusal(scenario).find("gradient g: warm-up steps are those of all ranks together") == 0);
  CHECK(refusal(of_paces({1, 2}, {.bound = std::nullopt, .first = 3})) ==
        "gradient g: the plan's asynchronous has first: 3, and 2 ranks contribute");
}

}  // namespace casync
