// SPDX-License-Identifier: Apache-2.0
//
// Codecs that exchange within a step, compared with closed forms.
#include <catch2/catch.hpp>
#include <string>

#include "casync/simulator/one_rank.h"
#include "casync/simulator/rounds.h"
#include "tests/casync/simulator/scenarios.h"

namespace casync {
namespace {

using namespace test;

constexpr Elements kRank = 2;

/// `low` sends two vectors of rows, then two of columns, and keeps a residual and the vectors of columns.
Result<CodecFacts> with_low(const CodecChoice& choice) {
  if (choice.name != "low") return facts_of(choice);
  return CodecFacts{"low", {.exact_merge = true, .bits_per_element = 1}, false, 0, [](Elements rows, Elements columns) {
                      return RoundsFacts{{kRank * rows, kRank * columns}, rows * columns + kRank * columns};
                    }};
}

/// `levels` exchanges one float, then an element for each of the gradient's in the codec `byte`; any gradient will do.
Result<CodecFacts> with_levels(const CodecChoice& choice) {
  if (choice.name != "levels") return facts_of(choice);
  CodecFacts facts{
      "levels", {.exact_merge = true, .bits_per_element = 8}, false, 0, [](Elements rows, Elements columns) {
        return RoundsFacts{{1, rows * columns}, 0, {"none", "byte"}};
      }};
  facts.takes_vectors = true;
  return facts;
}

Scenario matrix(int ranks, Elements rows, Elements columns, StrategyKind strategy, int partitions,
                const Profile& profile, const std::string& codec = "low") {
  Scenario scenario = one_gradient(ranks, 0, {{codec, {}}, {codec, {}}, strategy, partitions, 0, 0}, profile);
  scenario.training.gradients[0].spec.shape = {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)};
  scenario.facts_of = with_low;
  return scenario;
}

/// Seconds of all turns: their launches, and the bytes that they read and write over the memory's bandwidth.
double turn_seconds(double rows, double columns, const Profile& profile) {
  const double n = rows * columns, exchanged = kRank * (rows + columns), states = n + kRank * columns;
  return 3 * profile.launch_s + 4 * (3 * n + 2 * exchanged + 2 * states + n) / profile.memory_bytes_per_second;
}

double one_rank_seconds(const Scenario& scenario) {
  const Result<Simulation> simulation = simulate_one_rank(scenario, {});
  REQUIRE(simulation.status().text() == "OK");
  return simulation->step_s;
}

}  // namespace

TEST_CASE("rounds: as many bytes as the factors have, by every strategy's pattern") {
  constexpr Elements kRows = 96, kColumns = 200;
  const double factors = 4.0 * kRank * (kRows + kColumns);
  for (const int ranks : {1, 2, 3, 4, 8, 16}) {
    for (const int partitions : {1, ranks}) {
      const auto bytes = [&](StrategyKind strategy) {
        return simulated(matrix(ranks, kRows, kColumns, strategy, partitions, awkward())).wire_bytes_per_rank;
      };
      CAPTURE(ranks, partitions);
      const double others = ranks - 1;
      CHECK(bytes(StrategyKind::kPs) == Approx(2 * factors * others / ranks));
      CHECK(bytes(StrategyKind::kRing) == Approx(2 * factors * others / ranks));
      CHECK(bytes(StrategyKind::kTree) == Approx(2 * factors * others / ranks));
      CHECK(bytes(StrategyKind::kAllGather) == Approx(factors * others));
    }
  }
}

TEST_CASE("rounds: turns and exchanges one after the other") {
  for (const Profile& profile : {ideal(1e-9), awkward()}) {
    for (const StrategyKind strategy : {StrategyKind::kPs, StrategyKind::kRing, StrategyKind::kTree}) {
      for (const int ranks : {1, 2, 5, 8}) {
        CAPTURE(name_of(strategy), ranks);
        const auto plain = [&](Elements elements) {
          return simulated(one_gradient(ranks, elements, {{}, {}, strategy, 1, 0, 0}, profile)).step_s;
        };
        const Scenario low = matrix(ranks, 96, 200, strategy, 1, profile);
        const double turns = turn_seconds(96, 200, profile);
        const double first = plain(kRank * 96), second = plain(kRank * 200), step = simulated(low).step_s;
        // A rank need not wait for the others' end of an exchange, only for its own.
        CHECK(step <= (first + second + turns) * (1 + 1e-9));
        CHECK(step >= 0.85 * (first + second) + turns);
        if (ranks == 1) CHECK(step == Approx(first + second + turns).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE("rounds: measured turns instead of the memory's bandwidth") {
  Profile profile = awkward();
  profile.codecs["low"].encode = Curve::affine(3e-5, 1e-9);
  const Simulation alone = simulated(matrix(1, 100, 300, StrategyKind::kPs, 1, profile));
  double sums = 0;  // sums of one rank's elements, moved once
  for (const Elements elements : {kRank * 100, kRank * 300}) {
    sums += simulated(one_gradient(1, elements, {{}, {}, StrategyKind::kPs, 1, 0, 0}, profile)).step_s;
  }
  CHECK(alone.step_s == Approx(3e-5 + 1e-9 * 30000 + 3 * profile.launch_s + sums));
  CHECK(alone.parts.encode_s + alone.parts.merge_s + alone.parts.decode_s == Approx(alone.step_s));
}

TEST_CASE("rounds: vectors, and matrices that are too small, are sent as they are") {
  const Profile profile = awkward();
  const auto same = [&](std::vector<std::int64_t> shape) {
    Scenario low = matrix(4, 1, 1, StrategyKind::kPs, 1, profile), none = low;
    none.decisions[0].codec = none.decisions[0].second_hop = CodecChoice{};
    low.training.gradients[0].spec.shape = none.training.gradients[0].spec.shape = std::move(shape);
    const Simulation a = simulated(low), b = simulated(none);
    return a.step_s == b.step_s && a.wire_bytes_per_rank == b.wire_bytes_per_rank &&
           one_rank_seconds(low) == one_rank_seconds(none);
  };
  CHECK(same({40000}));
  CHECK(same({}));
  CHECK(same({1, 40000}));
  CHECK(same({8, 8}));       // 32 floats of 64
  CHECK(!same({9, 9}));      // 36 of 81
  CHECK(!same({64, 3, 3}));  // 64 x 9
}

TEST_CASE("rounds: exchanges in a codec have its bytes, of vectors, too, where they have less than half of the bits") {
  constexpr Elements kElements = 96'000;
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{kElements}, {96, 1000}}) {
    for (const int ranks : {2, 3, 8}) {
      Scenario scenario = matrix(ranks, 1, 1, StrategyKind::kPs, ranks, awkward(), "levels");
      scenario.facts_of = with_levels;
      scenario.training.gradients[0].spec.shape = shape;
      CAPTURE(ranks);
      CHECK(simulated(scenario).wire_bytes_per_rank == Approx(2.0 * kElements * (ranks - 1) / ranks).epsilon(1e-3));
      CHECK(one_rank_seconds(scenario) == Approx(simulated(scenario).step_s).epsilon(0.25));
      Scenario none = scenario;
      none.decisions[0].codec = none.decisions[0].second_hop = CodecChoice{};
      none.training.gradients[0].spec.shape = scenario.training.gradients[0].spec.shape = {2};
      CHECK(simulated(scenario).step_s == simulated(none).step_s);  // 32 + 2 x 8 bits of 64
    }
  }
}

TEST_CASE("rounds: a matrix that is small enough for a bundle is in none, as in a session") {
  Profile profile = crowded();
  profile.bundled_task_s = profile.task_s / 8;
  Scenario scenario = matrix(3, 64, 64, StrategyKind::kPs, 1, profile);
  REQUIRE(scenario.training.gradients[0].spec.bytes() == kBundledGradientBytes);
  scenario.fusion_bytes = 64_KiB;
  const double tasks_s = simulated(scenario).parts.tasks_s, one = one_rank_seconds(scenario);
  scenario.profile.bundled_task_s.reset();
  CHECK(simulated(scenario).parts.tasks_s == tasks_s);
  CHECK(one_rank_seconds(scenario) == one);
}

TEST_CASE("rounds: a codec of rounds on one hop only is refused") {
  Scenario scenario = matrix(2, 96, 200, StrategyKind::kPs, 1, awkward());
  scenario.decisions[0].second_hop = {"byte", {}};
  const std::string said =
      "gradient g: codec `low` has exchanges of its own, which are not compressed: it stands for both hops, and `byte` "
      "cannot be one of them";
  CHECK(simulate(scenario, {}).status().message() == said);
  CHECK(simulate_one_rank(scenario, {}).status().message() == said);
}

TEST_CASE("rounds: one rank for all is near the simulation of all ranks") {
  for (const StrategyKind strategy : {StrategyKind::kPs, StrategyKind::kRing}) {
    for (const int ranks : {2, 4, 8, 16}) {
      for (const int partitions : {1, ranks}) {
        const Scenario scenario = matrix(ranks, 1024, 4096, strategy, partitions, awkward());
        CAPTURE(name_of(strategy), ranks, partitions);
        CHECK(one_rank_seconds(scenario) == Approx(simulated(scenario).step_s).epsilon(0.25));
      }
    }
  }
}

TEST_CASE("rounds: a whole step with other gradients comes to its end") {
  for (const int ranks : {2, 4, 8}) {
    Scenario scenario = several(ranks, 2, {{"byte", {}}, {"byte", {}}, StrategyKind::kPs, ranks, 0, 0}, awkward());
    scenario.facts_of = with_low;
    for (std::size_t g = 0; g < scenario.decisions.size(); g += 2) {
      scenario.training.gradients[g].spec.shape = {128, 300};
      scenario.decisions[g].codec = scenario.decisions[g].second_hop = {"low", {}};
      scenario.decisions[g].strategy = g % 4 == 0 ? StrategyKind::kHierarchical : StrategyKind::kRing;
    }
    SimulationOptions options;
    options.steps = 3;
    options.jitter = 0.2;
    const Simulation made = simulated(scenario, options);
    CHECK(made.step_s > 0.03);
    for (const GradientTimes& times : made.gradients) CHECK(times.sync_s > 0);
  }
}

}  // namespace casync
