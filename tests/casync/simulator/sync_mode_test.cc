// SPDX-License-Identifier: Apache-2.0
//
// Steps that do not all exchange, or whose results come a step late.
#include <algorithm>
#include <catch2/catch.hpp>

#include "casync/simulator/one_rank.h"
#include "tests/casync/simulator/scenarios.h"

namespace casync {
namespace {

using namespace test;

constexpr double kTraining = 0.03;  // backward and forward pass of scenarios.h

Scenario with_network(double seconds_per_byte) {
  Scenario scenario = several(4, 1, {{"byte", {}}, {"byte", {}}, StrategyKind::kPs, 4, 0}, awkward());
  scenario.profile.contention = Contention::of_all(1);
  scenario.profile.between.wire = Curve::affine(1e-6, seconds_per_byte);
  return scenario;
}

Simulation in_mode(Scenario scenario, const SyncMode& mode, const SimulationOptions& options = {}) {
  scenario.mode = mode;
  return simulated(scenario, options);
}

/// The exchange with nothing hidden: all gradients at the end of the backward pass, all needed at once.
Simulation alone(Scenario scenario) {
  scenario.training.backward_s = scenario.training.forward_s = 0;
  for (TrainedGradient& gradient : scenario.training.gradients) gradient.ready_s = gradient.need_s = 0;
  return simulated(scenario);
}

}  // namespace

TEST_CASE("simulator: a step whose results come late takes the longer of training and exchange") {
  for (const double seconds_per_byte : {1e-10, 1e-8, 1e-7, 1e-6}) {
    const Scenario scenario = with_network(seconds_per_byte);
    REQUIRE(scenario.training.backward_s + scenario.training.forward_s == Approx(kTraining));
    const Simulation late = in_mode(scenario, {.staleness = 1});
    const double exchange = alone(scenario).step_s;
    INFO(seconds_per_byte << ": exchange " << exchange);
    CHECK(late.step_s == Approx(std::max(kTraining, exchange)).epsilon(1e-9));
    CHECK(late.step_s <= simulated(scenario).step_s * (1 + 1e-9));
    CHECK(late.wire_bytes_per_rank == simulated(scenario).wire_bytes_per_rank);
    for (const std::uint32_t steps : {2u, kMostStaleness}) {
      CHECK(in_mode(scenario, {.staleness = steps}).step_s == late.step_s);  // exchanges go one after the other
    }
  }
}

TEST_CASE("simulator: local SGD takes its training, and of each exchange its part") {
  for (const double seconds_per_byte : {1e-10, 1e-7}) {
    const Scenario scenario = with_network(seconds_per_byte);
    const double exchange = alone(scenario).step_s;
    for (const std::uint32_t every : {1u, 2u, 8u, 1000u}) {
      const Simulation local = in_mode(scenario, {.every = every});
      CHECK(local.step_s == Approx(kTraining + exchange / every).epsilon(1e-9));
      CHECK(local.parts.training_s == Approx(kTraining).epsilon(1e-9));
      CHECK(local.parts.exposed_s == Approx(exchange / every).epsilon(1e-2));  // the ranks' mean
      CHECK(local.wire_bytes_per_rank == Approx(simulated(scenario).wire_bytes_per_rank / every));
      CHECK(in_mode(scenario, {.every = every, .from_step = 10}).step_s == local.step_s);
    }
  }
}

TEST_CASE("simulator: the rank that is slowest sets the pace of rounds, too") {
  SimulationOptions options;
  options.slowness = {1, 1, 2, 1};
  const Scenario scenario = with_network(1e-8);
  const Simulation local = in_mode(scenario, {.every = 4}, options);
  CHECK(local.step_s >= 2 * kTraining);
  CHECK(local.step_s <= 2 * (kTraining + alone(scenario).step_s));
  CHECK(in_mode(scenario, {.staleness = 1}, options).step_s >= 2 * kTraining);
}

TEST_CASE("simulator: each step of a round draws its own part of the jitter, as in a session") {
  constexpr int kRanks = 4, kRounds = 200;
  constexpr std::uint64_t kEvery = 8;
  Scenario scenario = one_gradient(kRanks, 1000, decision(StrategyKind::kPs, kRanks), ideal(0));
  scenario.training.backward_s = kTraining;
  scenario.training.jitter = 1;
  double longest = 0;  // of the ranks' rounds, mean over rounds
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    double most = 0;
    for (std::uint64_t rank = 0; rank < kRanks; ++rank) {
      double drawn = 0;
      for (std::uint64_t step = round * kEvery; step < (round + 1) * kEvery; ++step) drawn += drawn_for(0, rank, step);
      most = std::max(most, 1 + drawn / kEvery);
    }
    longest += most / kRounds;
  }
  REQUIRE(longest < 1.7);  // of single steps the longest of four takes 1.8
  CHECK(in_mode(scenario, {.every = kEvery}, {.steps = kRounds}).step_s == Approx(kTraining * longest));
  SimulationOptions options;
  options.steps = kRounds;
  options.jitter = 1;
  scenario.training.jitter = 0;
  CHECK(in_mode(scenario, {.every = kEvery}, options).step_s == Approx(kTraining * longest));
  const SyncMode gossip{.every = kEvery, .neighbours = Neighbours::kRing};
  CHECK(in_mode(scenario, gossip, options).step_s < kTraining * 1.7);
  const Simulation endless = in_mode(scenario, {.every = 1'000'000'000}, options);
  CHECK(endless.step_s == Approx(kTraining * 1.5).epsilon(0.01));
}

TEST_CASE("simulator: results that come several steps late hide that ranks are late in turn") {
  Scenario scenario = with_network(1e-10);
  scenario.training.jitter = 1;
  std::vector<double> step_s;
  for (const std::uint32_t staleness : {1u, 2u, 4u, 16u}) {
    const Simulation late = in_mode(scenario, {.staleness = staleness}, {.steps = 200});
    step_s.push_back(late.step_s);
    CHECK(late.ranks.size() == (staleness > 1 ? 4u : 0u));
    for (const RankPace& pace : late.ranks) CHECK(pace.most_ahead <= static_cast<int>(staleness));
  }
  // The longest of four draws from 1 to 2 takes 1.8 in the mean, and each of them 1.5.
  const double together_s = simulated(scenario, {.steps = 200}).step_s;
  CHECK(together_s > kTraining * 1.7);
  CHECK(step_s[0] < together_s);
  CHECK(step_s[1] < step_s[0]);
  CHECK(step_s[2] < step_s[1]);
  CHECK(step_s[3] <= step_s[2]);
  CHECK(step_s[3] == Approx(kTraining * 1.5).epsilon(0.04));
}

TEST_CASE("simulator: with any staleness a rank that is always slower sets the pace of all") {
  Scenario scenario = with_network(1e-10);
  scenario.training.slow = {{1, 2}};
  for (const std::uint32_t staleness : {1u, 2u, 8u}) {
    const Simulation late = in_mode(scenario, {.staleness = staleness});
    CHECK(late.step_s == Approx(2 * kTraining).epsilon(1e-3));
    if (staleness == 1) continue;
    CHECK(late.ranks[0].most_ahead == static_cast<int>(staleness));
    CHECK(late.ranks[0].step_s == Approx(2 * kTraining).epsilon(1e-3));
  }
}

TEST_CASE("simulator: a slow rank of the description is slow in every mode, and no rank stands for all then") {
  Scenario scenario = with_network(1e-10);
  scenario.training.slow = {{2, 3}};
  CHECK(simulated(scenario).step_s >= 3 * kTraining);
  CHECK(in_mode(scenario, {.every = 4}).step_s >= 3 * kTraining);
  CHECK(simulate_one_rank(scenario, {}).status().message().find("ranks are to differ") != std::string::npos);
  scenario.training.slow = {{4, 3}};
  CHECK(simulate(scenario, {}).status().message() == "model: slow rank 4, and there are 4 ranks");
}

TEST_CASE("simulator: one rank stands for all in these steps, too") {
  for (const SyncMode& mode : {SyncMode{.every = 4}, SyncMode{.staleness = 1}}) {
    Scenario scenario = with_network(1e-8);
    scenario.mode = mode;
    const Result<Simulation> one = simulate_one_rank(scenario, {});
    REQUIRE(one.status().text() == "OK");
    CHECK(one->step_s == Approx(simulated(scenario).step_s).epsilon(0.05));
  }
}

TEST_CASE("simulator: a rank that begins its next step while its last message is on its way keeps both apart") {
  constexpr double kLatency = 0.105, kPass = 0.05;
  Profile profile = ideal(kByte);
  profile.inside.latency_s = kLatency;
  profile.inside.send_work = profile.inside.receive_work = Curve::affine(1e-5, 0);
  Scenario scenario = one_gradient(2, 1000, decision(StrategyKind::kAllGather, 1), profile);
  scenario.training.backward_s = scenario.training.forward_s = kPass;
  scenario.training.jitter = 0.3;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    SimulationOptions options;
    options.seed = seed;
    const Simulation late = in_mode(scenario, {.staleness = 1}, options);
    CAPTURE(seed);
    CHECK(late.messages_per_rank == 1);
    CHECK(late.step_s >= kLatency);  // each exchange needs the other rank's last one
    CHECK(late.step_s <= 2 * (kLatency + 2 * kPass));
  }
}

}  // namespace casync
