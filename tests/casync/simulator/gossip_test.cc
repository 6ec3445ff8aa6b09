// SPDX-License-Identifier: Apache-2.0
//
// Ranks that exchange with neighbours only.
#include <catch2/catch.hpp>

#include "casync/patterns/pairs.h"
#include "casync/simulator/gossip_tasks.h"
#include "tests/casync/simulator/scenarios.h"

namespace casync {
namespace {

using namespace test;

constexpr double kGossipPass = 0.01;
constexpr Elements kElements = 1000;

Scenario gossiping(int ranks, Neighbours neighbours, const std::string& codec = "none", double seconds_per_byte = 0) {
  const CodecChoice choice{codec, {}};
  Scenario scenario =
      one_gradient(ranks, kElements, {choice, choice, StrategyKind::kPs, 1, 0}, ideal(seconds_per_byte));
  scenario.mode = {.every = 1, .neighbours = neighbours};
  scenario.training.backward_s = scenario.training.forward_s = kGossipPass;
  return scenario;
}

/// The ends of each rank's backward passes, by step.
std::vector<std::vector<double>> submissions(const Simulation& made, int ranks) {
  std::vector<std::vector<double>> ends(static_cast<std::size_t>(ranks));
  for (const SimulatedSpan& span : made.spans) {
    if (span.kind == SimulatedKind::kBackward) ends[static_cast<std::size_t>(span.rank)].push_back(span.to_s);
  }
  return ends;
}

}  // namespace

TEST_CASE("gossip: a rank sends its parameters to its neighbours and nobody else") {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    const double neighbours = ranks == 1 ? 0 : ranks == 2 ? 1 : 2;
    INFO(ranks);
    const double bytes = 4.0 * kElements;
    CHECK(simulated(gossiping(ranks, Neighbours::kRing)).wire_bytes_per_rank == Approx(neighbours * bytes));
    // A code of one byte an element, where copies exchange differences.
    CHECK(simulated(gossiping(ranks, Neighbours::kRing, "byte")).wire_bytes_per_rank == Approx(neighbours * kElements));
    const double paired = ranks == 1 ? 0 : ranks % 2 == 0 ? 1 : (ranks - 1.0) / ranks;
    CHECK(simulated(gossiping(ranks, Neighbours::kPairs)).wire_bytes_per_rank == Approx(paired * bytes));
  }
}

TEST_CASE("gossip: an exchange of equal ranks takes one message in pairs, and two or three on a ring") {
  constexpr double kSlowByte = 1e-6, kMessage = 4 * kElements * kSlowByte;
  for (const int ranks : {2, 6, 7}) {
    const double step_s = simulated(gossiping(ranks, Neighbours::kRing, "none", kSlowByte)).step_s;
    INFO(ranks);
    if (ranks == 2) CHECK(step_s == Approx(2 * kGossipPass + kMessage));
    // Both neighbours may send to a rank first, or both last.
    if (ranks > 2) CHECK(step_s >= (2 * kGossipPass + 2 * kMessage) * (1 - 1e-9));
    if (ranks > 2) CHECK(step_s <= (2 * kGossipPass + 3 * kMessage) * (1 + 1e-9));
  }
  CHECK(simulated(gossiping(6, Neighbours::kPairs, "none", kSlowByte)).step_s == Approx(2 * kGossipPass + kMessage));
  Scenario seldom = gossiping(6, Neighbours::kPairs, "none", kSlowByte);
  seldom.mode.every = 4;
  const Simulation made = simulated(seldom);
  CHECK(made.step_s == Approx(2 * kGossipPass + kMessage / 4));
  CHECK(made.wire_bytes_per_rank == Approx(4.0 * kElements / 4));
  CHECK(made.ranks.size() == 6);
  for (const RankPace& pace : made.ranks) CHECK(pace.steps == 4 * simulated_steps(seldom, {}));
}

TEST_CASE("gossip: on a ring a delay spreads by one neighbour an exchange, and in the end all have the slowest pace") {
  constexpr int kRanks = 9;
  Scenario scenario = gossiping(kRanks, Neighbours::kRing);
  scenario.training.slow = {{0, 5}};
  const Simulation made = simulated(scenario, {.spans = true});
  const auto ends = submissions(made, kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    const int distance = std::min(rank, kRanks - rank);
    const std::vector<double>& own = ends[static_cast<std::size_t>(rank)];
    INFO("rank " << rank);
    // Its first steps, as many as it is away, take their own time; the next one is late.
    for (int step = 0; step < std::max(distance, 1); ++step) {
      if (rank > 0) CHECK(own[static_cast<std::size_t>(step)] == Approx((2 * step + 1) * kGossipPass));
    }
    if (rank > 0) CHECK(own[static_cast<std::size_t>(distance)] > (2 * distance + 1) * kGossipPass * 1.001);
    CHECK(made.ranks[static_cast<std::size_t>(rank)].step_s == Approx(10 * kGossipPass).epsilon(1e-3));
    CHECK(made.ranks[static_cast<std::size_t>(rank)].most_ahead <= distance);
  }
  scenario.mode.every = 3;
  const Simulation seldom = simulated(scenario);
  for (std::size_t rank = 0; rank < made.ranks.size(); ++rank) {
    CHECK(seldom.ranks[rank].step_s == Approx(made.ranks[rank].step_s).epsilon(1e-3));
    CHECK(seldom.ranks[rank].most_ahead == 3 * made.ranks[rank].most_ahead);  // three steps between two exchanges
  }
  constexpr std::int64_t kMost = 1'000'000'000;  // that a plan may have
  scenario.mode.every = static_cast<std::uint32_t>(kMost);
  for (const RankPace& pace : simulated(scenario).ranks) {
    CHECK(pace.steps == kMost * simulated_steps(scenario, {}));
    CHECK(pace.most_ahead % kMost == 0);
    CHECK((pace.most_ahead >= 0 && pace.most_ahead <= kMost * kRanks / 2));
  }
}

TEST_CASE("gossip: pairs are those that a session draws") {
  Scenario scenario = gossiping(6, Neighbours::kPairs);
  scenario.seed = 11;
  scenario.mode.every = 3;
  scenario.mode.from_step = 100;
  const std::vector<std::uint32_t> drawn = gossip_pairings(scenario, 40);
  for (std::uint32_t exchange = 0; exchange < 40; ++exchange) {
    REQUIRE(exchanged_in(scenario.mode, 102 + 3 * exchange) == Exchanged::kParameters);
    CHECK(drawn[exchange] == static_cast<std::uint32_t>(pairs::round_of(11, 102 + 3 * exchange, 6)));
  }
  const Simulation made = simulated(scenario, {.spans = true});
  std::size_t sends = 0;
  for (const SimulatedSpan& span : made.spans) {
    if (span.kind != SimulatedKind::kSend) continue;
    const std::uint32_t step = 102 + 3 * static_cast<std::uint32_t>(span.step);
    CHECK(span.peer == pairs::partner(span.rank, pairs::round_of(11, step, 6), 6));
    ++sends;
  }
  CHECK(sends > 0);
}

TEST_CASE("gossip: messages that a slow link still carries when the next step sends end no run") {
  for (const Neighbours neighbours : {Neighbours::kRing, Neighbours::kPairs}) {
    for (const Bytes credit : {Bytes{0}, Bytes{30'000}}) {
      Scenario scenario = several(6, 2, {{"none", {}}, {"none", {}}, StrategyKind::kPs, 3, 0}, crowded());
      scenario.mode = {.every = 1, .neighbours = neighbours};
      scenario.fusion_bytes = 64 * 1024;
      scenario.credit_bytes = credit;
      scenario.profile.between.latency_s = 0.05;  // longer than a step
      scenario.training.jitter = 2;
      const Simulation made = simulated(scenario);
      CHECK(made.step_s > 0.05);
      CHECK(made.ranks.size() == 6);
      for (const RankPace& pace : made.ranks) CHECK(pace.steps == simulated_steps(scenario, {}));
    }
  }
}

TEST_CASE("gossip: everything that a profile may say is paid with codes, too") {
  Scenario scenario = several(6, 2, {{"byte", {}}, {"byte", {}}, StrategyKind::kPs, 3, 0}, crowded());
  scenario.mode = {.every = 1, .neighbours = Neighbours::kRing};
  scenario.credit_bytes = 30'000;
  const Simulation made = simulated(scenario);
  CHECK(made.step_s > 0.03);
  CHECK(made.parts.encode_s > 0);
  CHECK(made.parts.decode_s > made.parts.encode_s);  // three codes for one
  CHECK(made.parts.messages_s > 0);
  scenario.profile.upload = scenario.profile.download = Curve::affine(1e-6, 1e-9);
  CHECK(simulated(scenario).parts.copies_s > 0);
}

TEST_CASE("gossip: ranks without gradients take their passes and exchange nothing") {
  for (const Neighbours neighbours : {Neighbours::kRing, Neighbours::kPairs}) {
    Scenario scenario = gossiping(4, neighbours);
    scenario.training.gradients.clear();
    scenario.decisions.clear();
    const Simulation made = simulated(scenario);
    CHECK(made.step_s == Approx(2 * kGossipPass));
    CHECK(made.tasks == 0);
  }
}

TEST_CASE("gossip: gradients that a session refuses are refused by name") {
  Scenario scenario = gossiping(4, Neighbours::kPairs, "byte");
  CHECK(refusal(scenario).find("gradient g: gossip in pairs averages parameters as they are") == 0);
  scenario = gossiping(4, Neighbours::kRing, "byte");
  scenario.decisions[0].second_hop = {"half", {}};
  CHECK(refusal(scenario).find("gradient g: gossip has one hop, and second_hop `half` is not `byte`") == 0);
  scenario = gossiping(4, Neighbours::kPairs);
  scenario.decisions[0].second_hop = {"half", {}};
  CHECK(refusal(scenario).find("gradient g: gossip has one hop, and second_hop `half` is not `none`") == 0);
  CHECK(refusal(gossiping(4, Neighbours::kRing, "vote")).find("gradient g: codec `vote` needs what all ranks") == 0);
  scenario = gossiping(4, Neighbours::kRing);
  scenario.decisions[0].servers = {1, true};
  CHECK(refusal(scenario).find("gradient g: gossip averages the parameters of all ranks") == 0);
  CHECK(refusal(gossiping(65, Neighbours::kPairs)) ==
        "gossip with neighbours pairs is for up to 64 ranks, and there are 65: use ring");
}

}  // namespace casync
