// SPDX-License-Identifier: Apache-2.0
//
// ByteScheduler's credit: how many bytes a port has under way, and what nothing overtakes any more.
#include <catch2/catch.hpp>

#include "casync/simulator/one_rank.h"
#include "tests/casync/simulator/scenarios.h"

namespace casync {
namespace {

using namespace test;

constexpr double kLatency = 5e-5;
constexpr int kMessages = 8;
constexpr Bytes kEach = 64_KiB;
constexpr double kWire = static_cast<double>(kEach) * kByte;

/// One gradient of two ranks: each sends half of the messages to the other's partitions, and as many back.
Scenario with_credit(Bytes credit) {
  Profile profile = ideal(kByte);
  profile.inside.latency_s = profile.between.latency_s = kLatency;
  Scenario scenario = one_gradient(2, kMessages * kEach / 4, {{}, {}, StrategyKind::kPs, kMessages, 0}, profile);
  scenario.credit_bytes = credit;
  return scenario;
}

}  // namespace

TEST_CASE("simulator: a credit of one message waits for each to arrive and for the word of it to come back") {
  const double step = simulated(with_credit(kEach)).step_s;
  CHECK(step == Approx((kMessages - 1) * (kWire + 2 * kLatency) + kWire + kLatency).epsilon(1e-9));
  CHECK(simulated(with_credit(1)).step_s == step);
  CHECK(simulated(with_credit(2 * kEach - 1)).step_s == step);
}

TEST_CASE("simulator: with a credit of two messages the second leaves while the first is under way") {
  const double last_begins = (kMessages / 2 - 1) * (kWire + 2 * kLatency) + kWire;
  CHECK(simulated(with_credit(2 * kEach)).step_s == Approx(last_begins + kWire + kLatency).epsilon(1e-9));
}

TEST_CASE("simulator: with a credit that is never used up, the port is never idle") {
  CHECK(simulated(with_credit(kMessages * kEach)).step_s == Approx(kMessages * kWire + kLatency).epsilon(1e-9));
}

TEST_CASE("simulator: an urgent gradient overtakes what was not handed over, and nothing else") {
  Profile profile = ideal(kByte);
  Scenario scenario = one_gradient(2, 64 * kEach / 4, {{}, {}, StrategyKind::kPs, 64, 1}, profile);
  scenario.training.backward_s = kWire / 2;
  scenario.training.gradients.push_back({{"urgent", DType::kFloat32, {2 * kEach / 4}}, kWire / 2, 0});
  scenario.decisions.push_back({{}, {}, StrategyKind::kPs, 2, 0});
  const auto urgent = [&](Bytes credit) {
    scenario.credit_bytes = credit;
    return simulated(scenario).gradients[1].sync_s;
  };
  CHECK(urgent(kEach) == Approx(2.5 * kWire).epsilon(1e-9));  // the half of a message that is leaving, and its own two
  CHECK(urgent(kEach) == Approx(urgent(0)).epsilon(1e-9));
  CHECK(urgent(16 * kEach) > urgent(4 * kEach));
  CHECK(urgent(64 * kEach) > 31 * kWire);  // all that goes to the other's partitions goes first
}

TEST_CASE("simulator: a credit changes when messages leave and not which, on any machine and with any strategy") {
  for (const Profile& profile : {awkward(), crowded()}) {
    for (const StrategyKind strategy : {StrategyKind::kPs, StrategyKind::kRing, StrategyKind::kTree}) {
      Scenario scenario = several(6, 2, {{"byte", {}}, {"byte", {}}, strategy, 5, 0}, profile);
      const double bytes = simulated(scenario).wire_bytes_per_rank;
      for (const Bytes credit : {Bytes{1}, 4_KiB, 1_MiB}) {
        scenario.credit_bytes = credit;
        const Simulation made = simulated(scenario);
        CHECK(made.wire_bytes_per_rank == Approx(bytes));
        SimulationOptions every;
        every.every_rank = true;
        CHECK(simulated(scenario, every).step_s == made.step_s);
      }
    }
  }
}

TEST_CASE("simulator: all credit comes back, however many steps there are") {
  SimulationOptions options;
  for (const Bytes credit : {kEach, 2 * kEach, kMessages * kEach}) {
    const double one = simulated(with_credit(credit)).step_s;
    options.steps = 5;
    const Result<Simulation> five = simulate(with_credit(credit), options);
    REQUIRE(five.status().text() == "OK");
    CHECK(five->step_s == Approx(one).epsilon(0.05));  // a step may begin while the last word is on its way back
    CHECK(five->step_s >= one);
  }
  for (const Profile& profile : {awkward(), crowded()}) {
    Scenario scenario = several(6, 2, {{"byte", {}}, {"byte", {}}, StrategyKind::kPs, 5, 0}, profile);
    const double bytes = simulated(scenario).wire_bytes_per_rank;
    scenario.credit_bytes = 4_KiB;
    options.jitter = 0.2;
    const Result<Simulation> five = simulate(scenario, options);
    REQUIRE(five.status().text() == "OK");
    CHECK(five->wire_bytes_per_rank == Approx(bytes));
  }
}

TEST_CASE("simulator: a credit is for ranks with their messages") {
  const Scenario scenario = with_credit(kEach);
  CHECK(simulate_one_rank(scenario, {}).status().message().find("no credit counts") != std::string::npos);
}

}  // namespace casync
