// SPDX-License-Identifier: Apache-2.0
//
// Symmetric ranks, a few of which stand for all: compared with the simulation of each of them.
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "casync/simulator/simulate_within.h"
#include "casync/simulator/symmetry.h"
#include "casync/strategies/strategy.h"
#include "tests/casync/simulator/scenarios.h"

namespace casync {
namespace {

using namespace test;

const SimulationOptions kEveryRank{.every_rank = true};

struct Way {
  Decision decision;
  int rounds;  ///< partitions owned by each rank, in turns; 0: three partitions, whoever owns them
  std::string name;
};

/// Every strategy of the table whose ranks are alike in one codec, and some in others.
std::vector<Way> ways() {
  std::vector<Way> all = {{{{"none", {}}, {"none", {}}, StrategyKind::kPs, 1, 0}, 1, "ps none"},
                          {{{"odd", {}}, {"byte", {}}, StrategyKind::kPs, 1, 0}, 1, "ps odd byte"},
                          {{{"byte", {}}, {"half", {}}, StrategyKind::kPs, 1, 0}, 2, "ps byte half"},
                          {{{"none", {}}, {"none", {}}, StrategyKind::kRing, 1, 0}, 1, "ring none"},
                          {{{"half", {}}, {"byte", {}}, StrategyKind::kRing, 1, 0}, 3, "ring half byte"}};
  for (const Strategy& strategy : strategies()) {
    if (strategy.alike == Strategy::Alike::kNever) continue;
    const int rounds = strategy.alike == Strategy::Alike::kAlways ? 0 : 1;
    all.push_back({decision(strategy.kind, 1, "byte"), rounds, std::string(strategy.name) + " byte"});
  }
  return all;
}

/// The codecs of scenarios.h and one with parts of a bit, so that sums depend on their order.
Result<CodecFacts> facts_with_odd(const CodecChoice& choice) {
  if (choice.name != "odd") return facts_of(choice);
  return CodecFacts{.name = "odd", .traits = {.bits_per_element = 4.3}};
}

/// Gradients of which each third is small; each rank owns as much of each as any other.
Scenario equal(const Way& way, int ranks, int per_node, const Profile& profile, int gradients = 9) {
  Decision decision = way.decision;
  decision.partitions = way.rounds == 0 ? 3 : way.rounds * ranks;
  Scenario scenario = several(ranks, per_node, decision, profile, gradients);
  scenario.facts_of = facts_with_odd;
  for (std::size_t g = 0; g < scenario.decisions.size(); ++g) {
    std::int64_t& elements = scenario.training.gradients[g].spec.shape[0];
    if (way.rounds > 0) elements = (g % 3 == 0 ? 80 : 4096) * decision.partitions;
    if (way.rounds == 0 && g % 3 > 0) elements *= 10;
  }
  return scenario;
}

/// A profile with processors that work on codecs and messages; codecs take `slow` times as long.
Profile busy(int processors, double slow, double announced_bytes) {
  Profile profile = awkward();
  profile.processors = processors;
  profile.memory_bytes_per_second /= slow;
  profile.between.send_work = Curve::affine(1e-6, 1e-10);
  profile.between.receive_work = Curve::affine(2e-6, 1e-10);
  profile.between.announced_bytes = announced_bytes;
  return profile;
}

void check_same(const Scenario& scenario, SimulationOptions options = {}) {
  const Simulation few = simulated(scenario, options);
  options.every_rank = true;
  const Simulation all = simulated(scenario, options);
  CHECK(few.by == SimulatedBy::kSymmetricRanks);
  CHECK(all.by == SimulatedBy::kAllRanks);
  CHECK(few.step_s == all.step_s);
  CHECK(few.tasks == all.tasks);
  CHECK(few.wire_bytes_per_rank == Approx(all.wire_bytes_per_rank).epsilon(1e-12));
  CHECK(few.messages_per_rank == Approx(all.messages_per_rank).epsilon(1e-12));
  for (double StepParts::*part : {&StepParts::training_s, &StepParts::encode_s, &StepParts::merge_s,
                                  &StepParts::decode_s, &StepParts::tasks_s, &StepParts::wire_s, &StepParts::messages_s,
                                  &StepParts::processor_s, &StepParts::waiting_s, &StepParts::exposed_s}) {
    CHECK(few.parts.*part == Approx(all.parts.*part).epsilon(1e-9).margin(1e-15));
  }
  for (std::size_t g = 0; g < all.gradients.size(); ++g) {
    CHECK(few.gradients[g].sync_s == Approx(all.gradients[g].sync_s).epsilon(1e-9).margin(1e-15));
    CHECK(few.gradients[g].waiting_s == Approx(all.gradients[g].waiting_s).epsilon(1e-9).margin(1e-15));
  }
}

}  // namespace

// All ranks of a large group are simulated, too, which takes most of the time: these take a share of the settings in
// turn.
TEST_CASE("symmetry: one rank stands for all, whatever their processors, codecs and announcements") {
  for (const Way& way : ways()) {
    int setting = 0;
    for (const int processors : {0, 1, 2}) {
      for (const double slow : {1.0, 6.0, 20.0}) {  // codecs faster and slower than the wire
        for (const double announced : {0.0, 1.0, 3000.0}) {
          if (announced > 0 && processors != 1) continue;  // more answer at once
          ++setting;
          for (int ranks = 2; ranks <= 16; ++ranks) {
            if (ranks > 9 && (ranks + setting) % 3 != 0) continue;
            CAPTURE(way.name, ranks, processors, slow, announced);
            check_same(equal(way, ranks, 1, busy(processors, slow, announced)));
          }
        }
      }
    }
  }
}

TEST_CASE("symmetry: the same holds for 64 ranks") {
  for (const Way& way : ways()) {
    for (const int ranks : {24, 32, 48, 64}) {
      for (const int processors : {0, 1}) {
        for (const double slow : {1.0, 20.0}) {
          const bool is_slow = slow > 1, computes = processors > 0;
          if (ranks == 48 && is_slow == computes) continue;
          if (ranks == 64 && is_slow != computes) continue;
          CAPTURE(way.name, ranks, processors, slow);
          check_same(equal(way, ranks, 1, busy(processors, slow, 0)));
        }
      }
    }
    CAPTURE(way.name);
    check_same(equal(way, 64, 8, crowded()));
  }
}

TEST_CASE("symmetry: and whatever else a profile says") {
  for (const Way& way : ways()) {
    for (const int ranks : {2, 3, 8, 12}) {
      for (const int processors : {0, 1, 2}) {
        for (const Bytes fusion_bytes : {Bytes{0}, 64_KiB}) {
          Scenario scenario = equal(way, ranks, 1, crowded());
          scenario.profile.processors = processors;
          scenario.fusion_bytes = fusion_bytes;
          CAPTURE(way.name, ranks, processors, fusion_bytes);
          check_same(scenario);
        }
      }
    }
  }
}

TEST_CASE("symmetry: the ranks of one node stand for those of all nodes") {
  for (const Way& way : ways()) {
    for (const int ranks : {4, 8, 16}) {
      for (const int per_node : {2, 4}) {
        for (const bool shared : {false, true}) {
          for (const int processors : {1, 2}) {
            Scenario scenario = equal(way, ranks, per_node, crowded());
            scenario.profile.processors = processors;
            scenario.profile.node_shares_port = shared;
            CAPTURE(way.name, ranks, per_node, shared, processors);
            check_same(scenario);
          }
        }
      }
    }
  }
}

TEST_CASE("symmetry: over several steps, and where steps exchange seldom or late") {
  for (const Way& way : ways()) {
    const Scenario scenario = equal(way, 6, 1, crowded());
    CAPTURE(way.name);
    check_same(scenario, {.steps = 3});
    Scenario late = scenario;
    late.mode.staleness = 1;
    check_same(late);
    Scenario seldom = scenario;
    seldom.mode.every = 4;
    check_same(seldom);
  }
}

TEST_CASE("symmetry: ranks that are alike end at the same moment, whatever their names") {
  for (const Way& way : ways()) {
    for (const int ranks : {3, 4, 8}) {
      for (const double announced : {0.0, 1.0}) {
        const Simulation simulation = simulated(equal(way, ranks, 1, busy(1, 20, announced)), {.spans = true});
        std::vector<double> ends(static_cast<std::size_t>(ranks));
        for (const SimulatedSpan& span : simulation.spans) ends[static_cast<std::size_t>(span.rank)] = span.to_s;
        CAPTURE(way.name, ranks, announced);
        CHECK(ends == std::vector<double>(ends.size(), ends.front()));
      }
    }
  }
}

TEST_CASE("symmetry: alike ranks are found") {
  const auto period = [](const Scenario& scenario, const SimulationOptions& options = {}) {
    const Result<Symmetry> found = symmetry_of(scenario, options);
    REQUIRE(found.status().text() == "OK");
    return found->period;
  };
  for (const Way& way : ways()) {
    CAPTURE(way.name);
    const Scenario scenario = equal(way, 8, 1, awkward());
    CHECK(period(scenario) == 1);
    CHECK(period(equal(way, 8, 2, awkward())) == 2);
    CHECK(period(equal(way, 8, 8, awkward())) == 1);
    CHECK(period(scenario, kEveryRank) == 8);
    CHECK(period(scenario, {.jitter = 0.1}) == 8);
    CHECK(period(scenario, {.slowness = std::vector<double>(8, 1)}) == 8);
    CHECK(period(scenario, {.spans = true}) == 8);
    Scenario scattered = scenario;
    scattered.topology.node_of = {0, 1, 0, 1, 0, 1, 0, 1};
    CHECK(period(scattered) == 8);
    scattered.topology.node_of = {0, 0, 0, 1, 1, 1, 2, 2};
    CHECK(period(scattered) == 8);
    if (way.rounds == 0) continue;  // partitions that nobody owns may be as they like
    Scenario uneven = scenario;
    // Large partitions have a multiple of 64 elements; small ones differ by as little as one element.
    std::int64_t& large = uneven.training.gradients[4].spec.shape[0];
    for (const auto& [more, alike] : {std::pair{-1, 8}, {1, 8}, {8, 8}, {64, 8}, {64 * 7, 8}, {64 * 8, 1}}) {
      large = 4096 * uneven.decisions[4].partitions + more;
      CAPTURE(more);
      CHECK(period(uneven) == alike);
      if (alike == 1) check_same(uneven);
    }
    std::int64_t& small = uneven.training.gradients[3].spec.shape[0];
    for (const auto& [elements, alike] : {std::pair{8, 1}, {4, 8}, {9, 8}, {88, 1}, {0, 1}}) {
      small = elements;
      CAPTURE(elements);
      CHECK(period(uneven) == alike);
      if (alike == 1) check_same(uneven);
    }
    uneven = scenario;
    uneven.decisions[4].partitions = 4;
    CHECK(period(uneven) == 8);
    for (const Strategy& strategy : strategies()) {
      if (strategy.alike != Strategy::Alike::kNever) continue;
      Scenario other = scenario;
      other.decisions[4] = decision(strategy.kind, 8);
      CHECK(period(other) == 8);
    }
  }
}

TEST_CASE("symmetry: the tasks to be simulated are no more than were counted") {
  std::vector<Way> all = ways();
  all.push_back({{{"byte", {}}, {"half", {}}, StrategyKind::kHierarchical, 1, 0}, 1, "hierarchical"});
  for (const Strategy& strategy : strategies()) {
    for (const char* codec : {"none", "byte", "state", "vote"}) {
      all.push_back({decision(strategy.kind, 1, codec), 1, std::string(strategy.name) + " " + codec});
    }
  }
  for (const Way& way : all) {
    for (const int ranks : {1, 2, 3, 8, 12}) {
      for (const int per_node : {1, 2}) {
        const Scenario scenario = equal(way, ranks, per_node, awkward());
        const Symmetry every{ranks, ranks};
        const Result<double> most = tasks_at_most(scenario, every);
        REQUIRE(most.status().text() == "OK");
        CAPTURE(way.name, ranks, per_node);
        CHECK(static_cast<double>(simulated(scenario, kEveryRank).tasks) <= *most);
      }
    }
  }
}

TEST_CASE("symmetry: exactly where that is affordable, by one rank nearly where it is not") {
  const auto within = [](std::uint64_t tasks, const Scenario& scenario, const SimulationOptions& options = {}) {
    Result<Simulation> simulation = simulate_within(tasks, scenario, options);
    REQUIRE(simulation.status().text() == "OK");
    return std::move(*simulation);
  };
  const Scenario alike = equal(ways()[0], 8, 1, busy(1, 6, 0));
  CHECK(within(kAffordableTasks, alike).by == SimulatedBy::kSymmetricRanks);
  CHECK(within(kAffordableTasks, alike).step_s == simulated(alike, kEveryRank).step_s);
  Scenario unlike = equal(ways()[0], 8, 1, awkward());
  unlike.decisions[4].partitions = 3;
  CHECK(within(kAffordableTasks, unlike).by == SimulatedBy::kAllRanks);
  CHECK(within(kAffordableTasks, unlike).step_s == simulated(unlike).step_s);
  const Simulation one = within(100, unlike);
  CHECK(one.by == SimulatedBy::kOneRank);
  CHECK(one.step_s == Approx(simulated(unlike).step_s).epsilon(0.2));
  CHECK(within(kAffordableTasks, unlike, {.jitter = 0.1}).step_s > simulated(unlike).step_s);
  const std::string differ = "one rank cannot stand for all: ranks are to differ, or spans of all are asked for";
  CHECK(simulate_within(100, unlike, {.jitter = 0.1}).status().message() == differ);
}

TEST_CASE("symmetry: one rank stands for many nodes that gather, which have more tasks than can be simulated") {
  Scenario scenario = several(1024, 1, decision(StrategyKind::kHierarchicalAllGather, 1, "byte"), awkward(), 100);
  const Result<Simulation> simulation = simulate_within(kAffordableTasks, scenario, {});
  REQUIRE(simulation.status().text() == "OK");
  CHECK(simulation->by == SimulatedBy::kOneRank);
}

TEST_CASE("symmetry: 4096 ranks with 400 gradients, each in a partition for each rank") {
  Scenario scenario = equal({{{"byte", {}}, {"byte", {}}, StrategyKind::kPs, 1, 0}, 1, "ps"}, 4096, 1, awkward(), 400);
  for (TrainedGradient& gradient : scenario.training.gradients) gradient.spec.shape = {1 << 20};
  const Result<Simulation> simulation = simulate_within(kAffordableTasks, scenario, {});
  REQUIRE(simulation.status().text() == "OK");
  CHECK(simulation->by == SimulatedBy::kSymmetricRanks);
  CHECK(simulation->tasks == std::uint64_t{400} * 4096 * (6 * 4095 + 2));
  CHECK(simulation->wire_bytes_per_rank == Approx(400.0 * 2 * 4095 / 4096 * (1 << 20)));
}

}  // namespace casync
