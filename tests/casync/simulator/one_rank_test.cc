// SPDX-License-Identifier: Apache-2.0
//
// One rank for all, compared with the simulation of all ranks.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "casync/simulator/one_rank.h"
#include "casync/strategies/strategy.h"
#include "tests/casync/simulator/scenarios.h"

namespace casync {
namespace {

using namespace test;

double one_rank_seconds(const Scenario& scenario) {
  const Result<Simulation> simulation = simulate_one_rank(scenario, {});
  REQUIRE(simulation.status().text() == "OK");
  return simulation->step_s;
}

struct Way {
  Decision decision;
  std::string name;
};

/// Every strategy of the table in one codec, and some in others.
std::vector<Way> ways() {
  std::vector<Way> all = {{{{"none", {}}, {"none", {}}, StrategyKind::kPs, 1, 0}, "ps none"},
                          {{{"none", {}}, {"none", {}}, StrategyKind::kRing, 1, 0}, "ring none"},
                          {{{"half", {}}, {"byte", {}}, StrategyKind::kRing, 1, 0}, "ring half byte"},
                          {{{"none", {}}, {"none", {}}, StrategyKind::kTree, 1, 0}, "tree none"},
                          {{{"byte", {}}, {"half", {}}, StrategyKind::kHierarchical, 1, 0}, "hierarchical byte half"}};
  for (const Strategy& strategy : strategies()) {
    all.push_back({decision(strategy.kind, 1, "byte"), std::string(strategy.name) + " byte"});
  }
  return all;
}

/// Returns true if ranks never do the same at the same time, so that one stands for all only roughly.
bool is_rough(const Way& way) { return strategy_of(way.decision.strategy).alike == Strategy::Alike::kNever; }

/// Twelve gradients, each third one small and whole; the others in so many partitions.
Scenario compared(const Way& way, int ranks, int per_node, int partitions, double slow, Profile profile = awkward()) {
  Decision decision = way.decision;
  decision.partitions = std::max(1, partitions);
  for (Curve::Point& point : profile.between.wire.points) point.seconds *= slow;
  Scenario scenario = several(ranks, per_node, decision, profile);
  for (std::size_t g = 0; g < scenario.decisions.size(); ++g) {
    if (g % 3 == 0) {
      scenario.decisions[g].partitions = 1;
    } else {
      scenario.training.gradients[g].spec.shape[0] *= 10;
    }
  }
  return scenario;
}

}  // namespace

TEST_CASE("one rank: as the simulation of all ranks says, where ranks own as many partitions each") {
  for (const Way& way : ways()) {
    if (is_rough(way)) continue;
    for (const int ranks : {2, 4, 8, 16, 32, 64}) {
      for (const int factor : {1, 4}) {
        if (factor * ranks > 64) continue;  // millions of tasks where everybody sends to everybody
        for (const double slow : {1.0, 10.0}) {
          const Scenario scenario = compared(way, ranks, 1, factor * ranks, slow);
          const double all = simulated(scenario).step_s;
          CAPTURE(way.name, ranks, factor, slow);
          CHECK(one_rank_seconds(scenario) == Approx(all).epsilon(0.11));
        }
      }
    }
  }
}

TEST_CASE("one rank: costs of tasks, contention and fans are those of all ranks") {
  for (const Way& way : ways()) {
    if (is_rough(way)) continue;
    for (const int ranks : {2, 4, 8, 16}) {
      for (const double slow : {1.0, 10.0}) {
        Scenario scenario = compared(way, ranks, 1, ranks, slow, crowded());
        scenario.profile.processors = 0;  // tasks take as long whatever runs at the same time
        const Simulation all = simulated(scenario);
        const Result<Simulation> one = simulate_one_rank(scenario, {});
        REQUIRE(one.status().text() == "OK");
        CAPTURE(way.name, ranks, slow, all.step_s, one->step_s);
        CHECK(one->step_s == Approx(all.step_s).epsilon(0.2));
        CHECK(one->parts.tasks_s == Approx(all.parts.tasks_s).epsilon(0.2));
      }
    }
  }
}

TEST_CASE("one rank: processor time of messages is that of all ranks") {
  for (const Way& way : ways()) {
    if (is_rough(way)) continue;
    for (const int ranks : {2, 4, 8, 16, 32, 64}) {
      for (const double work : {1e-10, 8e-10}) {  // little, and nearly what the wire takes
        for (const int processors : {1, 2}) {
          Profile profile = awkward();
          profile.processors = processors;
          profile.contention = Contention::of_all(2);
          profile.between.send_work = Curve::affine(1e-6, work);
          profile.between.receive_work = Curve::affine(2e-6, 1.2 * work);
          const Scenario scenario = compared(way, ranks, 1, ranks, 1, profile);
          const Simulation all = simulated(scenario);
          const Result<Simulation> one = simulate_one_rank(scenario, {});
          REQUIRE(one.status().text() == "OK");
          CAPTURE(way.name, ranks, work, processors, all.step_s, one->step_s);
          CHECK(one->parts.messages_s > 0);
          CHECK(one->parts.processor_s == Approx(all.parts.processor_s).epsilon(0.11));
          if (way.decision.strategy == StrategyKind::kRing && ranks > 8) {
            // The last partition is smaller, so ranks fall out of step and wait for each other.
            CHECK(one->step_s <= all.step_s * 1.11);
            CHECK(one->step_s >= all.step_s * 0.4);
          } else {
            CHECK(one->step_s == Approx(all.step_s).epsilon(processors == 1 ? 0.13 : 0.11));
          }
        }
      }
    }
  }
}

TEST_CASE("one rank: a ring whose partitions are alike, and whose processors are as busy as its wire") {
  for (const int ranks : {16, 32, 64}) {
    for (const int processors : {1, 2}) {
      Profile profile = awkward();
      profile.processors = processors;
      profile.contention = Contention::of_all(2);
      profile.between.send_work = Curve::affine(1e-6, 8e-10);
      profile.between.receive_work = Curve::affine(2e-6, 1e-9);
      Scenario scenario = several(ranks, 1, decision(StrategyKind::kRing, 1), profile);
      for (std::size_t g = 0; g < scenario.decisions.size(); ++g) {
        std::int64_t& elements = scenario.training.gradients[g].spec.shape[0];
        elements = (elements * 10 / 16384 + 1) * 16384;
        scenario.decisions[g].partitions = ranks;
      }
      CAPTURE(ranks, processors);
      CHECK(one_rank_seconds(scenario) == Approx(simulated(scenario).step_s).epsilon(0.02));
    }
  }
}

TEST_CASE("one rank: near it everywhere, and nearer mostly") {
  std::vector<double> off;
  for (const Way& way : ways()) {
    for (const int per_node : {1, 4}) {
      for (const int ranks : {4, 8, 16, 32}) {
        for (const int partitions : {1, ranks / 2, ranks}) {
          for (const double slow : {1.0, 10.0}) {
            const Scenario scenario = compared(way, ranks, per_node, partitions, slow);
            const double all = simulated(scenario).step_s, one = one_rank_seconds(scenario);
            CAPTURE(way.name, per_node, ranks, partitions, slow, all, one);
            CHECK(std::abs(one - all) <= 0.45 * all);
            off.push_back(std::abs(one - all) / all);
          }
        }
      }
    }
  }
  std::sort(off.begin(), off.end());
  CHECK(off[off.size() / 2] < 0.04);
  CHECK(off[off.size() * 9 / 10] < 0.26);
}

TEST_CASE("one rank: near the simulation of all ranks where few of them serve") {
  for (const char* codec : {"none", "byte"}) {
    for (const int servers : {1, 2, 4}) {
      for (const int ranks : {8, 16, 32}) {
        for (const int per_node : {1, 4}) {
          for (const bool dedicated : {false, true}) {
            for (const double slow : {1.0, 10.0}) {
              const Way way{{{codec, {}}, {codec, {}}, StrategyKind::kPs, 1, 0}, "servers"};
              Scenario scenario = compared(way, ranks, per_node, 2 * servers, slow);
              for (Decision& decision : scenario.decisions) decision.servers = {servers, dedicated};
              const double all = simulated(scenario).step_s, one = one_rank_seconds(scenario);
              CAPTURE(codec, servers, ranks, per_node, dedicated, slow, all, one);
              // One rank has the sends of both kinds, which dedicated servers do not.
              CHECK(std::abs(one - all) <= (dedicated ? 0.5 : 0.45) * all);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("one rank: everything so many times as slow makes the step so many times as long") {
  Profile shared = crowded();
  shared.processors = 2;  // with one, codec tasks have turns of a length of their own
  const Profile profile = GENERATE_REF(awkward(), shared);
  for (const Way& way : ways()) {
    Scenario scenario = compared(way, 8, 4, 8, 1, profile);
    const double step = one_rank_seconds(scenario);
    scenario.profile = scaled(scenario.profile, 4);
    scenario.training.backward_s *= 4;
    scenario.training.forward_s *= 4;
    for (TrainedGradient& gradient : scenario.training.gradients) gradient.ready_s *= 4, gradient.need_s *= 4;
    CHECK(one_rank_seconds(scenario) == step * 4);
  }
}

TEST_CASE("one rank: never less than training, its port or its codec alone") {
  const Profile profile = GENERATE(awkward(), crowded());
  for (const Way& way : ways()) {
    for (const int partitions : {1, 8, 64}) {
      Scenario scenario = compared(way, 16, 4, partitions, 10, profile);
      scenario.profile.contention = {};
      double codec = 0, inside = 0, between = 0;
      for (std::size_t g = 0; g < scenario.decisions.size(); ++g) {
        const Result<HopCosts> costs =
            hop_costs(scenario.decisions[g], DType::kFloat32, scenario.profile, scenario.facts_of);
        REQUIRE(costs.status().text() == "OK");
        const Outline made = outline(scenario.decisions[g], scenario.training.gradients[g].spec.elements(),
                                     alike_ranks(scenario.topology), scenario.profile, *costs, scenario.profile.task_s);
        codec += made.codec_s();
        inside += made.port_s(false);
        between += made.port_s(true);
      }
      const double step = one_rank_seconds(scenario) * (1 + 1e-12);
      CHECK(step >= 0.03);
      CHECK(step >= codec);
      CHECK(step >= inside);
      CHECK(step >= between);
    }
  }
}

TEST_CASE("one rank: 4096 ranks with 400 gradients") {
  const Decision decision{{"byte", {}}, {"byte", {}}, StrategyKind::kPs, 4096, 0};
  Scenario scenario = several(4096, 8, decision, awkward(), 400);
  for (TrainedGradient& gradient : scenario.training.gradients) gradient.spec.shape = {1 << 20};
  const Result<Simulation> simulation = simulate_one_rank(scenario, {});
  REQUIRE(simulation.status().text() == "OK");
  CHECK(simulation->step_s > 0.03);
  CHECK(simulation->wire_bytes_per_rank == Approx(400.0 * 2 * 4095 / 4096 * (1 << 20)).epsilon(0.01));
}

TEST_CASE("one rank: a rank alone does what its graph says, with every strategy") {
  Profile tasks = crowded();
  tasks.contention = Contention::of_all(1.4);  // tasks without work have the contention of one kind or another
  for (const Profile& profile : {awkward(), tasks}) {
    for (const Strategy& strategy : strategies()) {
      for (const char* codec : {"none", "byte", "state"}) {
        const Scenario scenario = compared({decision(strategy.kind, 1, codec), ""}, 1, 1, 1, 1, profile);
        const Simulation alone = simulated(scenario);
        const Result<Simulation> one = simulate_one_rank(scenario, {});
        REQUIRE(one.status().text() == "OK");
        CAPTURE(strategy.name, codec, profile.task_s);
        CHECK(one->step_s == Approx(alone.step_s).epsilon(1e-9));
        for (double StepParts::*part : {&StepParts::encode_s, &StepParts::merge_s, &StepParts::decode_s}) {
          CHECK(one->parts.*part == Approx(alone.parts.*part).epsilon(1e-9).margin(1e-15));
        }
      }
    }
  }
}

TEST_CASE("one rank: two ranks exchange a whole gradient that is not compressed in one hop, unless it is in a bundle") {
  const Elements bundled = kBundledGradientBytes / sizeof(float);
  for (const Elements elements : {bundled, bundled + 1, 4 * bundled}) {
    const Scenario ps = one_gradient(2, elements, decision(StrategyKind::kPs, 1), awkward());
    const Scenario gathered = one_gradient(2, elements, decision(StrategyKind::kAllGather, 1), awkward());
    const double one = one_rank_seconds(ps);
    CAPTURE(elements, one);
    CHECK((one == one_rank_seconds(gathered)) == (elements > bundled));
    if (elements > bundled) CHECK(one == Approx(simulated(ps).step_s).epsilon(0.01));
  }
}

TEST_CASE("one rank: ranks that one cannot stand for are refused") {
  const auto refused = [](const Scenario& scenario, const SimulationOptions& options) {
    return simulate_one_rank(scenario, options).status().message();
  };
  Scenario uneven = compared(ways()[0], 4, 1, 4, 1);
  uneven.topology.node_of = {0, 0, 0, 1};
  CHECK(refused(uneven, {}) == "one rank cannot stand for all: nodes have different numbers of ranks");
  SimulationOptions options;
  options.jitter = 0.1;
  const std::string differ = "one rank cannot stand for all: ranks are to differ, or spans of all are asked for";
  CHECK(refused(compared(ways()[0], 4, 1, 4, 1), options) == differ);
  Scenario unknown = compared(ways()[0], 4, 1, 4, 1);
  unknown.decisions[2].codec.name = "zip";
  CHECK(refused(unknown, {}).find("gradient layer2: no codec zip") == 0);
  Scenario mixed = compared({decision(StrategyKind::kPs, 1, "byte"), "ps byte"}, 4, 1, 4, 1);
  mixed.decisions[1].strategy = StrategyKind::kAllGather;
  mixed.decisions[1].second_hop.name = "half";
  CHECK(refused(mixed, {}).find("gradient layer1: strategy `all_gather` has one hop only") == 0);
}

}  // namespace casync
