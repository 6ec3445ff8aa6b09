// SPDX-License-Identifier: Apache-2.0
//
// Messages that take time of processors, which codec tasks and training share: scenarios that can be computed by hand.
#include <catch2/catch.hpp>

#include <algorithm>

#include "casync/simulator/task_turn.h"
#include "tests/casync/simulator/scenarios.h"

namespace casync {
namespace {

using namespace test;

}  // namespace

TEST_CASE("simulator: a message is through when its port and both ranks' processors are") {
  Scenario scenario = one_gradient(2, 1000, decision(StrategyKind::kPs, 1), ideal(kByte));
  const double wire = 4000 * kByte;
  Link& link = scenario.profile.inside;
  const auto step_with = [&](double send, double receive) {
    link.send_work = Curve::affine(0, send * kByte);
    link.receive_work = Curve::affine(0, receive * kByte);
    return simulated(scenario);
  };
  // There and back. While the wire takes longest, processors do their part meanwhile.
  const Simulation within = step_with(0.5, 1);
  CHECK(near(within.step_s, 2 * wire));
  CHECK(near(within.parts.messages_s, 1.5 * wire));  // each rank sends one and receives one
  CHECK(near(step_with(3, 1).step_s, 2 * 3 * wire));
  CHECK(near(step_with(1, 5).step_s, 2 * 5 * wire));
  // The first byte comes a latency after it left, and the last one a latency after the sender is through.
  link.latency_s = wire;
  CHECK(near(step_with(3, 1).step_s, 2 * 4 * wire));
  CHECK(near(step_with(0, 5).step_s, 2 * 6 * wire));
}

TEST_CASE("simulator: training and codecs lose the time that messages take of a rank's one processor") {
  Profile profile = ideal(0);
  profile.processors = 1;
  profile.contention = Contention::of_all(2);
  profile.inside.send_work = profile.inside.receive_work = Curve::affine(1, 0);
  Scenario scenario = one_gradient(2, 10, decision(StrategyKind::kPs, 1), profile);
  scenario.training.forward_s = scenario.training.gradients[0].need_s = 10;
  // Each rank sends one and receives one: two seconds of its processor, with four of which training has the other half.
  const Simulation beside = simulated(scenario);
  CHECK(near(beside.step_s, 12));
  CHECK(near(beside.parts.messages_s, 4));
  CHECK(near(beside.parts.processor_s, 2));
  CHECK(near(beside.parts.exposed_s, 2));
  // A rank whose only messages are those of g sends while it encodes h for itself, by turns.
  scenario.training.forward_s = scenario.training.gradients[0].need_s = 0;
  scenario.profile.codecs["byte"].merge = Curve::affine(1, 0);
  scenario.decisions[0] = decision(StrategyKind::kAllGather, 1, "byte");
  const double apart = simulated(scenario).step_s;
  CHECK(near(apart, 2 + 1));  // sends, receives, adds up; encoding costs nothing
  scenario.training.gradients.push_back(scenario.training.gradients[0]);
  scenario.training.gradients[1].spec.name = "h";
  scenario.decisions.push_back(scenario.decisions[0]);
  // Four seconds of messages and two of merges: with one processor, whatever the order, six.
  CHECK(near(simulated(scenario).step_s, 6));
  scenario.profile.processors = 2;
  CHECK(near(simulated(scenario).step_s, 5));  // the first merge goes on during the other's messages
}

TEST_CASE("simulator: with one processor messages wait for the task that runs, and announced ones for both ranks'") {
  // Both encode h for ten seconds. A message, of h or of the 40 bytes of g, is a second of either side's processor. The
  // request for room for g is answered after these ten seconds; then h's message has to be sent and received, too.
  Profile profile = ideal(0);
  profile.inside.send_work = profile.inside.receive_work = Curve::affine(1, 0);
  profile.codecs["byte"].encode = Curve::affine(10, 0);
  Scenario scenario = one_gradient(2, 10, decision(StrategyKind::kPs, 1), profile);
  scenario.training.gradients.push_back(scenario.training.gradients[0]);
  scenario.training.gradients[1].spec.name = "h";
  scenario.decisions.push_back(decision(StrategyKind::kAllGather, 1, "byte"));
  const auto first_has_left = [&](double announced_bytes, int processors) {
    scenario.profile.inside.announced_bytes = announced_bytes;
    scenario.profile.processors = processors;
    SimulationOptions options;
    options.spans = true;
    double least = 1e9;
    for (const SimulatedSpan& span : simulated(scenario, options).spans) {
      if (span.kind == SimulatedKind::kSend && span.gradient == 0) least = std::min(least, span.to_s);
    }
    return least;
  };
  CHECK(near(first_has_left(0, 2), 1));
  CHECK(near(first_has_left(0, 1), 11));
  CHECK(near(first_has_left(40, 2), 1));
  CHECK(near(first_has_left(40, 1), 13));
  CHECK(near(first_has_left(41, 1), 11));
}

TEST_CASE("simulator: with one processor the messages of a turn of tasks leave together") {
  // Both ranks encode ten gradients, of which four fit into a turn, and merge them for nothing.
  Profile profile = ideal(0);
  profile.processors = 1;
  profile.inside.send_work = profile.inside.receive_work = Curve::affine(1e-6, 0);
  profile.codecs["byte"].encode = Curve::affine(0.3 * kTaskTurn, 0);
  Scenario scenario = several(2, 2, decision(StrategyKind::kAllGather, 1, "byte"), profile, 10);
  for (TrainedGradient& gradient : scenario.training.gradients) gradient.ready_s = scenario.training.backward_s;
  scenario.fusion_bytes = 1 << 20;
  CHECK(simulated(scenario).messages_per_rank == 3);  // of 4, 4 and 2
  // A thread of their own sends the first one alone, and what has come meanwhile.
  scenario.profile.processors = 2;
  CHECK(simulated(scenario).messages_per_rank == 10);
  // Tasks that take a turn each have nothing to wait for.
  scenario.profile.processors = 1;
  scenario.profile.codecs["byte"].encode = Curve::affine(kTaskTurn, 0);
  CHECK(simulated(scenario).messages_per_rank == 10);
}

TEST_CASE("simulator: messages that leave as one cost processors one message") {
  Profile profile = ideal(0);
  profile.inside.send_work = profile.inside.receive_work = Curve::affine(1, 0);
  Scenario scenario = one_gradient(2, 10, decision(StrategyKind::kPs, 1), profile);
  for (int g = 1; g < 8; ++g) {
    scenario.training.gradients.push_back(scenario.training.gradients[0]);
    scenario.training.gradients.back().spec.name += std::to_string(g);
    scenario.decisions.push_back(scenario.decisions[0]);
  }
  CHECK(near(simulated(scenario).parts.messages_s, 16));  // sends 8, receives 8
  scenario.fusion_bytes = 1000;
  CHECK(near(simulated(scenario).parts.messages_s, 4));
}

}  // namespace casync
