// SPDX-License-Identifier: Apache-2.0
//
// Scenarios that can be computed by hand.
#include <catch2/catch.hpp>

#include "casync/simulator/one_rank.h"
#include "tests/casync/simulator/scenarios.h"

namespace casync {
namespace {

using namespace test;

/// Equal partitions: as many elements for each rank.
Elements elements_for(int ranks) { return static_cast<Elements>(ranks) * 64 * 1024; }

}  // namespace

TEST_CASE("simulator: ps and ring take 2 (N-1)/N of the gradient over the link, and two latencies or 2 (N-1)") {
  for (int ranks = 2; ranks <= 16; ++ranks) {
    for (const double latency : {0.0, 5e-5}) {
      CAPTURE(ranks, latency);
      Profile profile = ideal(kByte);
      profile.between.latency_s = profile.inside.latency_s = latency;
      const Elements elements = elements_for(ranks);
      const double wire = 2.0 * (ranks - 1) / ranks * static_cast<double>(elements) * 4 * kByte;
      const auto ps = one_gradient(ranks, elements, decision(StrategyKind::kPs, ranks), profile);
      CHECK(near(simulated(ps).step_s, wire + 2 * latency));
      const auto ring = one_gradient(ranks, elements, decision(StrategyKind::kRing, ranks), profile);
      CHECK(near(simulated(ring).step_s, wire + 2 * (ranks - 1) * latency));
    }
  }
}

TEST_CASE("simulator: a single partition is sent by all to its owner, one after the other, and back") {
  for (int ranks = 2; ranks <= 16; ++ranks) {
    CAPTURE(ranks);
    const auto scenario = one_gradient(ranks, 1000, decision(StrategyKind::kPs, 1), ideal(kByte));
    CHECK(near(simulated(scenario).step_s, 2 * (ranks - 1) * 4000 * kByte));
  }
}

TEST_CASE("simulator: one server receives from all others and sends to them, a partition at a time") {
  for (int ranks = 2; ranks <= 16; ++ranks) {
    for (const int partitions : {1, 4}) {
      for (const bool dedicated : {false, true}) {
        const Elements elements = elements_for(partitions);
        auto scenario = one_gradient(ranks, elements, decision(StrategyKind::kPs, partitions), ideal(kByte));
        scenario.decisions[0].servers = {1, dedicated};
        const double whole = static_cast<double>(elements) * 4 * kByte;
        CAPTURE(ranks, partitions, dedicated);
        // Results leave while the next partition arrives.
        CHECK(near(simulated(scenario).step_s, (ranks - 1) * whole * (partitions + 1) / partitions));
      }
    }
  }
}

TEST_CASE("simulator: servers take 2 (N-1)/S of the gradient over the link of each, where it is never idle") {
  for (int ranks = 3; ranks <= 16; ++ranks) {
    for (int servers = 1; servers < ranks; ++servers) {
      const Elements elements = elements_for(servers);
      auto scenario = one_gradient(ranks, elements, decision(StrategyKind::kPs, servers), ideal(kByte));
      scenario.decisions[0].servers = {servers, false};
      const double wire = 2.0 * (ranks - 1) / servers * static_cast<double>(elements) * 4 * kByte;
      CAPTURE(ranks, servers);
      const double step = simulated(scenario).step_s;
      CHECK(step >= wire * (1 - 1e-9));
      CHECK(step <= wire * 1.5);
    }
  }
}

TEST_CASE("simulator: more servers than ranks are refused with the gradient's name") {
  auto scenario = one_gradient(4, 100, decision(StrategyKind::kPs, 1), ideal(kByte));
  scenario.decisions[0].servers = {5, false};
  const std::string refused = "5 servers in a group of 4 ranks, expected 1 to 4";
  CHECK(simulate(scenario, {}).status().text() ==
        "PlanError: gradient " + scenario.training.gradients[0].spec.name + ": " + refused);
  CHECK(simulate_one_rank(scenario, {}).status().message().ends_with(refused));
}

TEST_CASE("simulator: one ring partition is passed on 2 (N-1) times, each time with what a message costs") {
  for (int ranks = 2; ranks <= 16; ++ranks) {
    CAPTURE(ranks);
    Profile profile = ideal(kByte);
    profile.inside.latency_s = 3e-6;
    profile.inside.message_s = 2e-6;
    const auto scenario = one_gradient(ranks, 1000, decision(StrategyKind::kRing, 1), profile);
    CHECK(near(simulated(scenario).step_s, 2 * (ranks - 1) * (4000 * kByte + 5e-6)));
  }
}

TEST_CASE("simulator: the codec's curves and the launch are paid where the graph has the task") {
  Profile profile = ideal(kByte);
  profile.launch_s = 1e-3;
  profile.codecs["byte"] = {Curve::affine(0.01, 1e-8), Curve::affine(0.02, 1e-8), Curve::affine(0.04, 1e-8)};
  const auto scenario = one_gradient(2, 1000, decision(StrategyKind::kPs, 1, "byte"), profile);
  // Encode, send, merge of the code and the owner's elements, send, decode: one after the other.
  const double encode = 0.011 + 1e-5, decode = 0.021 + 1e-5, merge = 0.041 + 2e-5, wire = 1000 * kByte;
  const Simulation simulation = simulated(scenario);
  CHECK(near(simulation.step_s, encode + wire + merge + wire + decode));
  CHECK(near(simulation.parts.encode_s, encode / 2));  // the mean over two ranks, of which one encodes
  CHECK(near(simulation.parts.merge_s, merge / 2));
  CHECK(near(simulation.parts.decode_s, decode));
  CHECK(near(simulation.parts.wire_s, wire));
  CHECK(near(simulation.wire_bytes_per_rank, 1000));
  CHECK(near(simulation.messages_per_rank, 1));
}

TEST_CASE("simulator: between nodes the slower link counts, and a port that ranks share is shared") {
  Profile profile = ideal(kByte);
  profile.between.wire = Curve::affine(0, 10 * kByte);
  Scenario scenario = one_gradient(4, 4 * 64 * 1024, decision(StrategyKind::kPs, 4), profile);
  const double piece = 64 * 1024 * 4 * kByte;
  scenario.topology.node_of = {0, 1, 2, 3};
  CHECK(near(simulated(scenario).step_s, 2 * 3 * 10 * piece));
  // Two ranks to a node: each sends two of its three pieces to the other node, on each hop.
  scenario.topology.node_of = {0, 0, 1, 1};
  const double own_ports = simulated(scenario).step_s;
  CHECK(own_ports >= 2 * 2 * 10 * piece * (1 - 1e-9));
  CHECK(own_ports < 2 * 3 * 10 * piece);  // both of a node begin with the same owner of the other node
  scenario.profile.node_shares_port = true;
  const double shared_port = simulated(scenario).step_s;
  CHECK(shared_port >= 2 * 4 * 10 * piece * (1 - 1e-9));
  CHECK(shared_port < 2 * 4 * 10 * piece + 6 * piece);
}

TEST_CASE("simulator: small messages to one peer leave as one, and pay once") {
  Profile profile = ideal(0);
  profile.inside.message_s = 1;
  Scenario scenario = one_gradient(2, 10, decision(StrategyKind::kPs, 1), profile);
  for (int g = 1; g < 8; ++g) {
    scenario.training.gradients.push_back(scenario.training.gradients[0]);
    scenario.training.gradients.back().spec.name += std::to_string(g);
    scenario.decisions.push_back(scenario.decisions[0]);
  }
  // Owners take turns: each rank sends 4 contributions, then 4 results.
  CHECK(near(simulated(scenario).messages_per_rank, 8));
  CHECK(near(simulated(scenario).step_s, 8));
  scenario.fusion_bytes = 1000;
  CHECK(near(simulated(scenario).messages_per_rank, 2));
  CHECK(near(simulated(scenario).step_s, 2));
  scenario.fusion_bytes = 80;  // two of 40 bytes
  CHECK(near(simulated(scenario).messages_per_rank, 4));
}

TEST_CASE("simulator: contention stretches training and codec alike, while both run") {
  Profile profile = ideal(0);
  profile.contention = Contention::of_all(2);
  profile.codecs["byte"].encode = Curve::affine(1, 0);
  Scenario scenario = one_gradient(1, 10, decision(StrategyKind::kPs, 1), profile);
  // A merge of one second on a single rank, during a forward pass of three.
  scenario.decisions[0] = decision(StrategyKind::kPs, 1, "byte");
  scenario.profile.codecs["byte"].merge = Curve::affine(1, 0);
  scenario.training.forward_s = 3;
  scenario.training.gradients[0].need_s = 3;
  const Simulation simulation = simulated(scenario);
  CHECK(near(simulation.step_s, 4));  // two seconds at half the rate, then two more
  CHECK(near(simulation.parts.merge_s, 2));
  CHECK(near(simulation.parts.exposed_s, 1));
  CHECK(simulation.parts.waiting_s == 0);
  scenario.profile.contention = {};
  CHECK(near(simulated(scenario).step_s, 3));
}

TEST_CASE("simulator: each kind of codec work, and training, has a contention of its own") {
  Profile profile = ideal(0);
  for (Curve* curve : {&profile.codecs["byte"].encode, &profile.codecs["byte"].merge, &profile.codecs["byte"].decode}) {
    *curve = Curve::affine(1, 0);
  }
  profile.contention = {2, 8, 4, 5};
  Scenario scenario = one_gradient(1, 10, decision(StrategyKind::kPs, 1, "byte"), profile);
  scenario.training.forward_s = 100;
  scenario.training.gradients[0].need_s = 100;
  const Simulation simulation = simulated(scenario);
  // On one rank there is a merge and a decode. Meanwhile training goes at half its rate.
  CHECK(simulation.parts.encode_s == 0);
  CHECK(near(simulation.parts.merge_s, 4));
  CHECK(near(simulation.parts.decode_s, 5));
  CHECK(near(simulation.step_s, 100 + 9 / 2.0));
}

TEST_CASE("simulator: the cost of tasks is paid for each, one after the other on a rank") {
  for (const StrategyKind strategy : {StrategyKind::kPs, StrategyKind::kAllGather, StrategyKind::kRing}) {
    for (const int ranks : {1, 2, 5}) {
      CAPTURE(ranks, name_of(strategy));
      Profile profile = ideal(0);
      profile.task_s = 1;
      Scenario scenario = one_gradient(ranks, 10, decision(strategy, 1), profile);
      const Simulation one = simulated(scenario);
      CHECK(near(one.parts.tasks_s * ranks, static_cast<double>(one.tasks)));
      if (ranks == 1) CHECK(near(one.step_s, static_cast<double>(one.tasks)));
      // Twice as many gradients: twice as much, wherever one rank is always busy.
      scenario.training.gradients.push_back(scenario.training.gradients[0]);
      scenario.training.gradients[1].spec.name = "h";
      scenario.decisions.push_back(scenario.decisions[0]);
      const Simulation two = simulated(scenario);
      CHECK(near(two.parts.tasks_s, 2 * one.parts.tasks_s));
      if (strategy == StrategyKind::kAllGather) CHECK(two.step_s > 1.8 * one.step_s);
    }
  }
}

TEST_CASE("simulator: a merge whose curves say so costs something once and something for each code") {
  Profile profile = ideal(0);
  for (const int ranks : {2, 5}) {
    profile.codecs["byte"].merge = Curve::affine(0.5, 0.001);
    profile.codecs["byte"].merge_base = {};
    const auto step = [&](StrategyKind strategy) {
      return simulated(one_gradient(ranks, 1000, decision(strategy, 1, "byte"), profile)).step_s;
    };
    CHECK(near(step(StrategyKind::kPs), 0.5 + ranks));  // all contributions alike
    profile.codecs["byte"].merge_base = Curve::affine(7, 0.01);
    CHECK(near(step(StrategyKind::kPs), 7 + 10 + 0.5 + (ranks - 1)));
    CHECK(near(step(StrategyKind::kAllGather), 7 + 10 + 0.5 + ranks));  // its own is coded, too
    CHECK(near(simulate_one_rank(one_gradient(ranks, 1000, decision(StrategyKind::kAllGather, 1, "byte"), profile), {})
                   ->step_s,
               7 + 10 + 0.5 + ranks));
  }
  // Alone there is nothing but the rank's own.
  CHECK(near(simulated(one_gradient(1, 1000, decision(StrategyKind::kPs, 1, "byte"), profile)).step_s, 17));
}

TEST_CASE("simulator: an incast slows the port that several send to, an outcast the one that sends to several") {
  Scenario scenario = one_gradient(4, 1000, decision(StrategyKind::kPs, 1), ideal(kByte));
  const double message = 4000 * kByte;
  CHECK(near(simulated(scenario).step_s, 6 * message));  // three come, one after the other, and three go
  // The first bytes of all come at once: the port finds one, then two, then three.
  scenario.profile.inside.incast = {{{2, 2}, {3, 4}}};
  CHECK(near(simulated(scenario).step_s, (1 + 2 + 4 + 3) * message));
  // Three wait to leave, then two, then one.
  scenario.profile.inside.incast = {};
  scenario.profile.inside.outcast = {{{3, 7}}};
  CHECK(near(simulated(scenario).step_s, (3 + 7 + 4 + 1) * message));
  // Neither holds between two.
  Scenario two = one_gradient(2, 1000, decision(StrategyKind::kPs, 1), scenario.profile);
  CHECK(near(simulated(two).step_s, 2 * message));
}

TEST_CASE(
    "simulator: ranks of a node that share its port are one of a fan, those with ports of their own are several") {
  Scenario scenario = one_gradient(3, 1000, decision(StrategyKind::kPs, 1), ideal(kByte));
  scenario.topology.node_of = {0, 1, 1};
  scenario.profile.between.incast = scenario.profile.between.outcast = {{{2, 5}}};
  const double message = 4000 * kByte;
  scenario.profile.node_shares_port = true;
  CHECK(near(simulated(scenario).step_s, 4 * message));
  scenario.profile.node_shares_port = false;
  CHECK(near(simulated(scenario).step_s, (1 + 5 + 5 + 1) * message));
}

TEST_CASE("simulator: a fan is 1 with one peer, straight between points, and beyond the last as there") {
  const Fan fan{{{3, 2}, {5, 6}}};
  const std::pair<int, double> expected[] = {{0, 1}, {1, 1}, {2, 1.5}, {3, 2}, {4, 4}, {5, 6}, {500, 6}};
  for (const auto& [peers, slowdown] : expected) CHECK(near(fan.at(peers), slowdown));
  CHECK(Fan{}.at(7) == 1);
}

TEST_CASE("simulator: a step counts only what the forward pass has to wait for") {
  Scenario scenario = one_gradient(2, 1000, decision(StrategyKind::kPs, 1), ideal(kByte));
  const double sync = 2 * 4000 * kByte;
  scenario.training.backward_s = 1;
  scenario.training.forward_s = 1;
  CHECK(near(simulated(scenario).parts.waiting_s + 1, 1));  // ready at the very beginning
  scenario.training.gradients[0].ready_s = 1;
  const Simulation exposed = simulated(scenario);
  CHECK(near(exposed.step_s, 2 + sync));
  CHECK(near(exposed.parts.waiting_s, sync));
  CHECK(near(exposed.parts.exposed_s, sync));
  CHECK(near(exposed.gradients[0].waiting_s, sync));
  CHECK(near(exposed.gradients[0].sync_s, sync));
  scenario.training.gradients[0].need_s = sync / 4;
  CHECK(near(simulated(scenario).step_s, 2 + sync * 3 / 4));
}

TEST_CASE("simulator: gradients overlap, one on the wire while another is encoded, the most urgent first") {
  Profile profile = ideal(0);
  profile.codecs["byte"].encode = Curve::affine(1, 0);
  profile.inside.message_s = 1;
  Scenario scenario = one_gradient(2, 10, decision(StrategyKind::kPs, 1, "byte"), profile);
  const double alone = simulated(scenario).step_s;
  CHECK(near(alone, 3));  // encode, there, back
  for (int g = 1; g < 3; ++g) {
    scenario.training.gradients.push_back(scenario.training.gradients[0]);
    scenario.training.gradients.back().spec.name += std::to_string(g);
    scenario.decisions.push_back(scenario.decisions[0]);
  }
  // Rank 1 encodes g and g2 for rank 0 in seconds 1 and 2, and sends g in 2, the result of g1 in 3 (further along its
  // way), g2 in 4. Its result comes back in 5.
  CHECK(near(simulated(scenario).step_s, 5));
  scenario.decisions[2].priority = -1;  // g2 is encoded first, and everything about it goes ahead of g and g1
  CHECK(near(simulated(scenario).gradients[2].sync_s, 3));
}

}  // namespace casync
