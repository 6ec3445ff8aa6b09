// SPDX-License-Identifier: Apache-2.0
//
// Scattered gradients: half of an all-reduce on the wire, and their graphs priced task by task or as one rank.
#include <catch2/catch.hpp>
#include <cmath>

#include "casync/simulator/one_rank.h"
#include "tests/casync/simulator/scenarios.h"

namespace casync {
namespace {

using namespace test;

Scenario scattered(Scenario scenario) {
  for (TrainedGradient& gradient : scenario.training.gradients) gradient.spec.scattered = true;
  return scenario;
}

}  // namespace

TEST_CASE("simulator: a scattered gradient takes (N-1)/N of itself over the link, and two latencies") {
  for (int ranks = 2; ranks <= 16; ++ranks) {
    for (const double latency : {0.0, 5e-5}) {
      CAPTURE(ranks, latency);
      Profile profile = ideal(kByte);
      profile.between.latency_s = profile.inside.latency_s = latency;
      const Elements elements = static_cast<Elements>(ranks) * 64 * 1024;
      const Simulation one =
          simulated(scattered(one_gradient(ranks, elements, {{}, {}, StrategyKind::kTree, 1, 0}, profile)));
      const double bytes = 4.0 * (ranks - 1) / ranks * static_cast<double>(elements);
      CHECK(near(one.step_s, bytes * kByte + 2 * latency));
      CHECK(near(one.wire_bytes_per_rank, bytes));
    }
  }
}

TEST_CASE("simulator: a scattered gradient's code is encoded once, and merges are not encoded again") {
  Profile profile = ideal(kByte);
  profile.codecs["byte"] = {Curve::affine(0.01, 1e-8), Curve::affine(0.02, 1e-8), Curve::affine(0.04, 1e-8)};
  const Simulation one = simulated(scattered(one_gradient(2, 2000, decision(StrategyKind::kPs, 1, "byte"), profile)));
  CHECK(near(one.parts.encode_s, 0.01 + 1e-5));
  CHECK(one.parts.decode_s == 0);
  const Simulation whole = simulated(one_gradient(2, 2000, decision(StrategyKind::kPs, 2, "byte"), profile));
  CHECK(whole.step_s > one.step_s + 0.019);  // a decode
}

TEST_CASE("simulator: owners of shards encode their own elements, too, where a result is made of codes") {
  const auto encoding_s = [](const char* codec) {
    Profile profile = ideal(kByte);
    profile.codecs[codec] = {Curve::affine(0.01, 1e-8), Curve::affine(0.02, 1e-8), Curve::affine(0.04, 1e-8)};
    return simulated(scattered(one_gradient(2, 2000, decision(StrategyKind::kPs, 2, codec), profile))).parts.encode_s;
  };
  CHECK(near(encoding_s("byte"), 0.01 + 1e-5));
  CHECK(near(encoding_s("result"), 2 * encoding_s("byte")));
}

TEST_CASE("simulator: every rank owns its shard, whatever the plan's partitions are, and others take turns") {
  Scenario scenario = one_gradient(2, 1000, decision(StrategyKind::kPs, 1), ideal(kByte));
  scenario.training.gradients[0].spec = {"a", DType::kFloat32, {1000}};
  scenario.training.gradients[0].spec.scattered = true;
  for (const char* name : {"b", "c"}) {
    scenario.training.gradients.push_back({{name, DType::kFloat32, {100}}, 0, 0});
    scenario.decisions.push_back(decision(StrategyKind::kPs, 1));
  }
  std::vector<Rank> owners(3, -1);
  for (const SimulatedSpan& span : simulated(scenario, {.spans = true}).spans) {
    if (span.kind == SimulatedKind::kMerge) owners[span.gradient] = span.rank;
  }
  CHECK(owners[1] == 1);  // it is the next one's turn
  CHECK(owners[2] == 0);  // which owns less: half of `a`, as rank 1, and not `b`
}

TEST_CASE("simulator: a scattered gradient that is small enough for a bundle is in none, as in a session") {
  for (const int ranks : {1, 4}) {
    Profile profile = crowded();
    profile.bundled_task_s = profile.task_s / 8;
    Scenario scenario =
        scattered(one_gradient(ranks, kBundledGradientBytes / 4, decision(StrategyKind::kPs, 1), profile));
    scenario.fusion_bytes = 64_KiB;
    const auto one_rank_s = [&] {
      const Result<Simulation> one = simulate_one_rank(scenario, {});
      REQUIRE(one.status().text() == "OK");
      return one->step_s;
    };
    const double tasks_s = simulated(scenario).parts.tasks_s, one = one_rank_s();
    scenario.profile.bundled_task_s.reset();
    CAPTURE(ranks);
    CHECK(simulated(scenario).parts.tasks_s == tasks_s);
    CHECK(one_rank_s() == one);
  }
}

TEST_CASE("simulator: one rank stands for all that scatter, nearly") {
  for (const char* codec : {"none", "byte", "result"}) {
    for (const int ranks : {4, 8, 16}) {
      for (const int partitions : {1, 4}) {
        const Scenario scenario = scattered(
            one_gradient(ranks, 65'536 * 16, decision(StrategyKind::kPs, partitions * ranks, codec), awkward()));
        const double all = simulated(scenario).step_s;
        const Result<Simulation> one = simulate_one_rank(scenario, {});
        REQUIRE(one.status().text() == "OK");
        CAPTURE(codec, ranks, partitions, all, one->step_s);
        CHECK(std::abs(one->step_s - all) <= 0.3 * all);
      }
    }
  }
}

TEST_CASE("simulator: a scattered gradient that a session would refuse is refused") {
  const auto refused = [](const Scenario& scenario) { return simulate(scenario, {}).status().message(); };
  const Scenario odd = scattered(one_gradient(4, 102, decision(StrategyKind::kPs, 4, "none"), ideal(kByte)));
  CHECK(refused(odd).ends_with("102 elements are not 4 equal shards, one for each rank: pad them to 104"));
  Scenario late = scattered(one_gradient(4, 100, decision(StrategyKind::kPs, 4, "none"), ideal(kByte)));
  late.mode.staleness = 1;
  CHECK(refused(late).find("is scattered, and in the plan's mode ranks need all of the result") != std::string::npos);
}

}  // namespace casync
