// SPDX-License-Identifier: Apache-2.0
#include "tests/casync/simulator/scenarios.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

namespace casync::test {
namespace {

void slow(Curve& curve, double factor) {
  for (Curve::Point& point : curve.points) point.seconds *= factor;
}

}  // namespace

Result<CodecFacts> facts_of(const CodecChoice& choice) {
  if (choice.name == "none") return CodecFacts{"none", {.exact_merge = true}, true, 0};
  if (choice.name == "half") return CodecFacts{"half", {.exact_merge = true, .bits_per_element = 16}, false, 0};
  if (choice.name == "byte") return CodecFacts{"byte", {.bits_per_element = 8}, false, 8};
  if (choice.name == "vote") {
    return CodecFacts{"vote", {.bits_per_element = 1, .coded_terms = true, .votes = true}, false, 0};
  }
  if (choice.name == "result") return CodecFacts{"result", {.bits_per_element = 2, .has_result = true}, false, 0};
  if (choice.name == "state") return CodecFacts{"state", {.bits_per_element = 2, .coded_terms = true}, false, 16};
  // Codecs that send elements in half precision.
  if (choice.name == "fp16" || choice.name == "bf16") {
    return CodecFacts{choice.name, {.bits_per_element = 16}, false, 0};
  }
  return invalid_argument("no codec " + choice.name);
}

Profile ideal(double seconds_per_byte) {
  Profile profile;
  profile.memory_bytes_per_second = std::numeric_limits<double>::infinity();
  profile.between.wire = Curve::affine(0, seconds_per_byte);
  profile.inside = profile.between;
  return profile;
}

Profile awkward() {
  Profile profile;
  profile.memory_bytes_per_second = 3.1e10;
  profile.launch_s = 7e-6;
  profile.contention = Contention::of_all(1.3);
  profile.between = {2.3e-5, 4.1e-6, Curve::affine(1.7e-6, 8.3e-10)};
  profile.inside = {3.1e-6, 1.1e-6, Curve::affine(0.9e-6, 2.9e-11)};
  return profile;
}

Profile crowded() {
  Profile profile = awkward();
  profile.task_s = 1.9e-6;
  profile.contention = {1.2, 1.7, 1.5, 1.4};
  profile.between.incast = {{{2, 1.1}, {4, 1.6}}};
  profile.between.outcast = {{{3, 1.3}}};
  profile.inside.incast = {{{2, 1.05}}};
  profile.processors = 1;
  profile.codecs["half"] = {{}, {}, Curve::affine(2e-6, 1.3e-10), Curve::affine(1e-6, 3.7e-10)};
  profile.between.announced_bytes = 3000;
  profile.between.send_work = Curve::affine(1.3e-6, 2.1e-10);
  profile.between.receive_work = Curve::affine(1.7e-6, 3.3e-10);
  profile.inside.send_work = Curve::affine(0.6e-6, 2.7e-11);
  profile.inside.receive_work = Curve::affine(0.7e-6, 3.1e-11);
  return profile;
}

Profile scaled(Profile profile, double factor) {
  profile.memory_bytes_per_second /= factor;
  profile.launch_s *= factor;
  profile.task_s *= factor;
  if (profile.bundled_task_s) *profile.bundled_task_s *= factor;
  for (Curve* copies : {&profile.upload, &profile.download}) slow(*copies, factor);
  for (Link* link : {&profile.inside, &profile.between}) {
    link->latency_s *= factor;
    link->message_s *= factor;
    for (Curve* curve : {&link->wire, &link->send_work, &link->receive_work}) slow(*curve, factor);
  }
  for (auto& [name, curves] : profile.codecs) {
    for (Curve* curve : {&curves.encode, &curves.decode, &curves.merge, &curves.merge_base}) slow(*curve, factor);
  }
  return profile;
}

Scenario one_gradient(int ranks, Elements elements, const Decision& decision, const Profile& profile) {
  Scenario scenario;
  scenario.topology = Topology::flat(ranks);
  scenario.profile = profile;
  scenario.training.gradients = {{{"g", DType::kFloat32, {static_cast<std::int64_t>(elements)}}, 0, 0}};
  scenario.decisions = {decision};
  scenario.facts_of = facts_of;
  return scenario;
}

Scenario several(int ranks, int per_node, const Decision& decision, const Profile& profile, int gradients) {
  Scenario scenario;
  scenario.topology.ranks = ranks;
  for (Rank rank = 0; rank < ranks; ++rank) scenario.topology.node_of.push_back(rank / per_node);
  scenario.profile = profile;
  scenario.training.backward_s = 0.02;
  scenario.training.forward_s = 0.01;
  scenario.facts_of = facts_of;
  for (int g = 0; g < gradients; ++g) {
    const std::int64_t elements = g % 3 == 0 ? 1000 : 20000 + 7919 * g;
    const double part = static_cast<double>(g) / gradients;
    scenario.training.gradients.push_back(
        {{"layer" + std::to_string(g), DType::kFloat32, {elements}, g}, 0.02 * (1 - part), 0.01 * part});
    scenario.decisions.push_back(decision);
    scenario.decisions.back().priority = g;
  }
  return scenario;
}

Decision decision(StrategyKind strategy, int partitions, const char* codec) {
  return {{codec, {}}, {codec, {}}, strategy, partitions, 0};
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); }

Simulation simulated(const Scenario& scenario, const SimulationOptions& options) {
  Result<Simulation> simulation = simulate(scenario, options);
  REQUIRE(simulation.status().text() == "OK");
  return std::move(*simulation);
}

std::string refusal(const Scenario& scenario) { return simulate(scenario, {}).status().message(); }

}  // namespace casync::test
