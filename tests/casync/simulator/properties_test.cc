// SPDX-License-Identifier: Apache-2.0
//
// Properties of any scenario.
#include <catch2/catch.hpp>
#include <limits>

#include "casync/simulator/one_rank.h"
#include "tests/casync/simulator/scenarios.h"

namespace casync {
namespace {

using namespace test;

/// Strategies and codecs that go together, with several partitions.
std::vector<Decision> decisions() {
  return {{{"none", {}}, {"none", {}}, StrategyKind::kPs, 5, 0},
          {{"byte", {}}, {"byte", {}}, StrategyKind::kPs, 4, 0},
          {{"half", {}}, {"byte", {}}, StrategyKind::kRing, 4, 0},
          {{"byte", {}}, {"byte", {}}, StrategyKind::kRing, 4, 0},
          {{"vote", {}}, {"vote", {}}, StrategyKind::kRing, 3, 0},
          {{"state", {}}, {"byte", {}}, StrategyKind::kTree, 3, 0},
          {{"state", {}}, {"state", {}}, StrategyKind::kHierarchical, 3, 0},
          {{"vote", {}}, {"vote", {}}, StrategyKind::kAllGather, 2, 0},
          {{"byte", {}}, {"byte", {}}, StrategyKind::kAllGather, 3, 0},
          {{"half", {}}, {"byte", {}}, StrategyKind::kTree, 2, 0},
          {{"byte", {}}, {"half", {}}, StrategyKind::kHierarchical, 4, 0},
          {{"half", {}}, {"byte", {}}, StrategyKind::kDoubleTree, 3, 0},
          {{"state", {}}, {"byte", {}}, StrategyKind::kDoubleTree, 2, 0},
          {{"byte", {}}, {"byte", {}}, StrategyKind::kHierarchicalAllGather, 3, 0},
          {{"vote", {}}, {"vote", {}}, StrategyKind::kHierarchicalAllGather, 2, 0}};
}

Curve scaled(Curve curve, double factor) {
  for (Curve::Point& point : curve.points) point.seconds *= factor;
  return curve;
}

Scenario scaled(Scenario scenario, double factor) {
  scenario.profile = test::scaled(scenario.profile, factor);
  scenario.training.backward_s *= factor;
  scenario.training.forward_s *= factor;
  for (TrainedGradient& gradient : scenario.training.gradients) {
    gradient.ready_s *= factor;
    gradient.need_s *= factor;
  }
  return scenario;
}

}  // namespace

TEST_CASE("simulator: everything so many times as slow makes the step so many times as long") {
  Profile shared = crowded();
  shared.processors = 2;  // with one, codec tasks have turns of a length of their own
  for (const Profile& profile : {awkward(), shared}) {
    for (const Decision& decision : decisions()) {
      const Scenario scenario = several(6, 2, decision, profile);
      const double step = simulated(scenario).step_s;
      for (const double factor : {0.25, 2.0, 1024.0}) {
        CHECK(simulated(scaled(scenario, factor)).step_s == step * factor);
      }
    }
  }
}

TEST_CASE("simulator: tasks of small gradients in bundles have a cost of their own, in the outline, too") {
  Profile profile = crowded();
  const Profile alone = profile;
  profile.bundled_task_s = 0.3e-6;
  Profile bundled = alone;
  bundled.task_s = 0.3e-6;
  const auto compare = [&](Scenario scenario, const Profile& expected) {
    scenario.fusion_bytes = 64_KiB;
    Scenario other = scenario;
    other.profile = expected;
    const Simulation made = simulated(scenario), wanted = simulated(other);
    CHECK(made.parts.tasks_s == wanted.parts.tasks_s);
    CHECK(made.step_s == wanted.step_s);
    const Result<Simulation> one = simulate_one_rank(scenario, {}), wanted_one = simulate_one_rank(other, {});
    REQUIRE(one.status().text() == "OK");
    REQUIRE(wanted_one.status().text() == "OK");
    CHECK(one->step_s == wanted_one->step_s);
  };
  const Elements most = kBundledGradientBytes / sizeof(float);
  compare(one_gradient(3, most, {}, profile), bundled);
  compare(one_gradient(3, most + 1, {}, profile), alone);
  Decision parts, ring;
  parts.partitions = 2;
  ring.strategy = StrategyKind::kRing;
  compare(one_gradient(3, most, parts, profile), alone);
  compare(one_gradient(3, most, ring, profile), alone);
  Scenario never = one_gradient(3, most, {}, profile);
  never.fusion_bytes = 0;
  CHECK(simulated(never).parts.tasks_s == Approx(alone.task_s * static_cast<double>(simulated(never).tasks) / 3));
}

TEST_CASE("simulator: no step is shorter than its training, nor than what any one resource has to do") {
  const Profile profile = GENERATE(awkward(), crowded());
  for (const Decision& decision : decisions()) {
    for (const int ranks : {1, 2, 3, 8}) {
      SimulationOptions options;
      options.spans = true;
      Scenario scenario = several(ranks, 2, decision, profile);
      scenario.profile.contention = {};
      scenario.profile.processors = 0;  // nothing makes a codec's work take longer
      const Simulation simulation = simulated(scenario, options);
      const StepParts& parts = simulation.parts;
      CHECK(parts.encode_s + parts.merge_s + parts.decode_s + parts.tasks_s <= simulation.step_s * (1 + 1e-12));
      CHECK(parts.tasks_s == Approx(profile.task_s * static_cast<double>(simulation.tasks) / ranks).epsilon(1e-9));
      CHECK(parts.processor_s == Approx(parts.tasks_s + parts.messages_s));  // nothing holds them up
      CHECK(simulation.step_s >= 0.03 * (1 - 1e-12));
      std::vector<double> codec(8), sending(8), inside(8);
      double last = 0;
      for (const SimulatedSpan& span : simulation.spans) {
        const auto rank = static_cast<std::size_t>(span.rank);
        const double took = span.to_s - span.from_s;
        CHECK(took >= 0);
        last = std::max(last, span.to_s);
        if (span.kind == SimulatedKind::kSend) (span.rank / 2 == span.peer / 2 ? inside : sending)[rank] += took;
        if (span.kind >= SimulatedKind::kEncode && span.kind <= SimulatedKind::kDecode) codec[rank] += took;
      }
      CHECK(last == simulation.step_s);
      for (const auto& load : {codec, sending, inside}) {
        for (const double seconds : load) CHECK(seconds <= simulation.step_s * (1 + 1e-12));
      }
    }
  }
}

TEST_CASE("simulator: no step is shorter than what the messages, and on one processor the codecs, take of a rank") {
  for (const Decision& decision : decisions()) {
    for (const int ranks : {2, 3, 8}) {
      for (const int processors : {0, 1, 2}) {
        SimulationOptions options;
        options.spans = true;
        Scenario scenario = several(ranks, 2, decision, crowded());
        scenario.profile.processors = processors;
        scenario.profile.contention = {};
        scenario.profile.inside.send_work = scaled(scenario.profile.inside.send_work, 30);
        const Simulation simulation = simulated(scenario, options);
        std::vector<double> messages(8), codec(8);
        for (const SimulatedSpan& span : simulation.spans) {
          const Link& link = span.rank / 2 == span.peer / 2 ? scenario.profile.inside : scenario.profile.between;
          const auto rank = static_cast<std::size_t>(span.rank);
          const auto bytes = static_cast<double>(span.bytes);
          if (span.kind == SimulatedKind::kSend) {
            messages[rank] += link.send_work.at(bytes);
            messages[static_cast<std::size_t>(span.peer)] += link.receive_work.at(bytes);
          }
        }
        for (std::size_t rank = 0; rank < messages.size(); ++rank) {
          CHECK(messages[rank] <= simulation.step_s * (1 + 1e-12));
        }
        // Ranks share what is to be done, so their mean is all codecs' work, where nothing slows them.
        if (processors != 1) continue;
        scenario.profile.processors = 0;
        const StepParts alone = simulated(scenario).parts;
        CHECK(alone.encode_s + alone.merge_s + alone.decode_s + alone.tasks_s + alone.messages_s <=
              simulation.step_s * (1 + 1e-12));
      }
    }
  }
}

TEST_CASE("simulator: training loses as much as the messages of its one processor take, while it runs") {
  for (const Decision& decision : decisions()) {
    Scenario scenario = several(4, 1, decision, awkward());
    scenario.profile.processors = 1;
    scenario.profile.contention = Contention::of_all(2);
    scenario.profile.between.receive_work = Curve::affine(1e-6, 1e-10);
    const double without = simulated(several(4, 1, decision, scenario.profile)).step_s;
    // Results are needed at the very end of a long forward pass, so everything goes on during training.
    scenario.training.forward_s = 1;
    for (TrainedGradient& gradient : scenario.training.gradients) gradient.need_s = 1;
    const Simulation beside = simulated(scenario);
    CHECK(without > 0.03);
    CHECK(beside.parts.waiting_s == 0);
    scenario.profile.processors = 0;
    scenario.profile.contention = {};
    const StepParts alone = simulated(scenario).parts;
    const double work = alone.encode_s + alone.merge_s + alone.decode_s + alone.messages_s;
    CHECK(beside.step_s >= 1.02 + work * (1 - 1e-9));  // the mean of ranks; some have a little more
    CHECK(beside.step_s <= 1.02 + 1.5 * work);
  }
}

TEST_CASE("simulator: a higher cost makes no step shorter, up to another order of tasks") {
  const auto changed = [](auto change) {
    Profile profile = crowded();
    change(profile);
    return profile;
  };
  const std::vector<Profile> worse = {
      changed([](Profile& p) { p.task_s *= 20; }),
      changed([](Profile& p) { p.contention = Contention::of_all(4); }),
      changed([](Profile& p) { p.between.send_work = scaled(p.between.send_work, 8); }),
      changed([](Profile& p) { p.inside.receive_work = scaled(p.inside.receive_work, 40); }),
      changed([](Profile& p) {
        p.between.incast = {{{2, 5}}};
      }),
      changed([](Profile& p) {
        p.between.outcast = p.inside.outcast = {{{2, 5}}};
      }),
  };
  for (const Decision& decision : decisions()) {
    const double before = simulated(several(6, 2, decision, crowded())).step_s;
    CHECK(before >= simulated(several(6, 2, decision, awkward())).step_s * 0.99);
    for (const Profile& profile : worse) {
      CHECK(simulated(several(6, 2, decision, profile)).step_s >= before * 0.99);
    }
  }
}

TEST_CASE("simulator: spans of one resource do not overlap, and a recv begins after its send") {
  SimulationOptions options;
  options.spans = true;
  const Simulation simulation = simulated(several(4, 2, decisions()[1], awkward()), options);
  std::map<std::pair<int, Rank>, double> until;  // [codec or training, rank]
  std::map<std::tuple<Rank, Rank, std::uint32_t, std::uint32_t, std::uint32_t>, double> left;
  std::size_t messages = 0;
  for (const SimulatedSpan& span : simulation.spans) {
    if (span.kind == SimulatedKind::kSend) {
      left[{span.rank, span.peer, span.gradient, span.partition, span.hop}] = span.from_s;
    } else if (span.kind == SimulatedKind::kRecv) {
      const auto sent = left.find({span.peer, span.rank, span.gradient, span.partition, span.hop});
      REQUIRE(sent != left.end());
      CHECK(span.from_s > sent->second);
      ++messages;
    } else {
      double& free = until[{span.kind >= SimulatedKind::kEncode, span.rank}];
      CHECK(span.from_s >= free);
      free = span.to_s;
    }
  }
  CHECK((messages > 0 && messages == left.size()));
}

TEST_CASE("simulator: a message that comes while its receiver lacks the gradient is received when it has") {
  Scenario scenario = one_gradient(2, 1000, decisions()[0], ideal(1e-6));
  scenario.training.backward_s = scenario.training.gradients[0].ready_s = 1;
  SimulationOptions options;
  options.spans = true;
  options.slowness = {1, 3};
  std::size_t sends = 0, recvs = 0;
  double last = 0;
  for (const SimulatedSpan& span : simulated(scenario, options).spans) {
    if (span.kind == SimulatedKind::kSend) ++sends;
    if (span.kind != SimulatedKind::kRecv) continue;
    ++recvs;
    if (span.rank == 1 && span.hop == 0) last = span.to_s;
  }
  CHECK(sends > 0);
  CHECK(recvs == sends);
  CHECK(last == 3);
}

TEST_CASE("simulator: the same seed gives the same result, another one another") {
  const Scenario scenario = several(5, 1, decisions()[1], awkward());
  SimulationOptions options;
  options.jitter = 0.2;
  options.steps = 3;
  options.seed = 1;
  const double once = simulated(scenario, options).step_s;
  CHECK(simulated(scenario, options).step_s == once);
  CHECK(once > 0.03);
  options.seed = 2;
  CHECK(simulated(scenario, options).step_s != once);
  options.jitter = 0;
  const double still = simulated(scenario, options).step_s;
  CHECK(still < once);
  options.seed = 3;
  CHECK(simulated(scenario, options).step_s == still);
}

TEST_CASE("simulator: one slow rank holds all up, by what it takes longer and no more than all of them slow") {
  for (const Decision& decision : decisions()) {
    const Scenario scenario = several(4, 2, decision, awkward());
    const double step = simulated(scenario).step_s;
    SimulationOptions one, all;
    one.slowness = {1, 1, 2, 1};
    all.slowness = {2, 2, 2, 2};
    const double with_one = simulated(scenario, one).step_s;
    CHECK(with_one > step + 0.02);
    // An order of tasks that is better here may be worse there, by a little.
    CHECK(with_one <= simulated(scenario, all).step_s * 1.01);
  }
}

TEST_CASE("simulator: many steps are each as long as one when nothing differs between them") {
  for (const Decision& decision : decisions()) {
    Scenario scenario = several(4, 4, decision, awkward());
    scenario.fusion_bytes = 64_KiB;
    SimulationOptions options;
    const double step = simulated(scenario).step_s;
    options.steps = 5;
    const double mean = simulated(scenario, options).step_s;
    CHECK(mean == Approx(step).epsilon(0.02));
  }
}

TEST_CASE("simulator: messages that come ahead of their step there are kept") {
  Scenario scenario = several(4, 1, decisions()[0], awkward());
  scenario.profile.between.latency_s = 0.1;  // owners are steps ahead of what they sent
  SimulationOptions options;
  options.steps = 4;
  options.slowness = {1, 5, 1, 1};
  CHECK(simulated(scenario, options).step_s > 0.2);
}

TEST_CASE("simulator: more latency and a narrower link never make a shorter step") {
  for (const Decision& decision : decisions()) {
    double before = 0;
    for (const double slow : {1.0, 2.0, 8.0, 64.0}) {
      Profile profile = awkward();
      profile.between.wire = scaled(profile.between.wire, slow);
      profile.between.latency_s *= slow;
      const double step = simulated(several(4, 1, decision, profile)).step_s;
      CHECK(step >= before);
      before = step;
    }
  }
}

TEST_CASE("simulator: gradients without elements and steps without gradients") {
  Scenario scenario = one_gradient(3, 0, decisions()[0], awkward());
  CHECK(simulated(scenario).step_s == 0);
  scenario.training.forward_s = 2;
  CHECK(simulated(scenario).step_s == 2);
  scenario.training.gradients.clear();
  scenario.decisions.clear();
  CHECK(simulated(scenario).step_s == 2);
}

TEST_CASE("simulator: parts that do not fit together are refused and named") {
  const auto refused = [](auto change) {
    Scenario scenario = several(4, 2, decisions()[0], awkward());
    SimulationOptions options;
    change(scenario, options);
    return simulate(scenario, options).status().text();
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(refused([](Scenario&, SimulationOptions&) {}) == "OK");
  CHECK(refused([](Scenario& s, SimulationOptions&) { s.topology.ranks = 0; }) ==
        "InvalidArgument: ranks 0, expected at least 1");
  CHECK(refused([](Scenario& s, SimulationOptions&) { s.topology.node_of.pop_back(); }) ==
        "InvalidArgument: nodes of 3 ranks, and there are 4");
  CHECK(refused([](Scenario& s, SimulationOptions&) { s.topology.node_of[1] = 9; }) ==
        "InvalidArgument: a node numbered 9, expected 0 to 1: nodes have their numbers in the order of their first "
        "ranks");
  CHECK(refused([](Scenario& s, SimulationOptions&) {
          s.topology.node_of = {1, 1, 0, 0};
        }) ==
        "InvalidArgument: a node numbered 1, expected 0 to 0: nodes have their numbers in the order of their first "
        "ranks");
  CHECK(refused([](Scenario& s, SimulationOptions&) { s.decisions.pop_back(); }) ==
        "InvalidArgument: 11 decisions for 12 gradients, expected one for each");
  CHECK(refused([](Scenario&, SimulationOptions& o) { o.steps = 0; }) ==
        "InvalidArgument: steps 0, expected at least 1");
  CHECK(refused([&](Scenario&, SimulationOptions& o) { o.jitter = nan; }) ==
        "InvalidArgument: jitter nan, expected a finite number of at least 0");
  CHECK(refused([](Scenario&, SimulationOptions& o) { o.slowness.assign(4, -1); }) ==
        "InvalidArgument: slowness -1, expected a finite number of at least 0");
  CHECK(refused([&](Scenario& s, SimulationOptions&) { s.profile.inside.wire.points[1].seconds = nan; }) ==
        "InvalidArgument: profile: inside, point 2: seconds that are negative or not finite");
  CHECK(refused([](Scenario& s, SimulationOptions&) { s.profile.contention.encode = 0.5; }) ==
        "InvalidArgument: profile: contention 0.5, expected a finite number of at least 1");
  CHECK(refused([](Scenario& s, SimulationOptions&) { s.profile.processors = -1; }) ==
        "InvalidArgument: profile: processors -1, expected a number of at least 0");
  CHECK(refused([](Scenario& s, SimulationOptions&) {
          s.profile.inside.send_work.points = {{0, -1}};
        }) == "InvalidArgument: profile: inside, send_work, point 1: seconds that are negative or not finite");
  CHECK(refused([&](Scenario& s, SimulationOptions&) {
          s.profile.between.receive_work.points = {{0, nan}};
        }) == "InvalidArgument: profile: between, receive_work, point 1: seconds that are negative or not finite");
  CHECK(refused([&](Scenario& s, SimulationOptions&) { s.profile.inside.announced_bytes = nan; }) ==
        "InvalidArgument: profile: inside: announced_bytes nan, expected a finite number of at least 0");
  CHECK(refused([](Scenario& s, SimulationOptions&) { s.profile.task_s = -1e-6; }) ==
        "InvalidArgument: profile: task_seconds -1e-06, expected a finite number of at least 0");
  CHECK(refused([&](Scenario& s, SimulationOptions&) {
          s.profile.inside.incast.points = {{2, nan}};
        }) == "InvalidArgument: profile: inside, incast, point 1: a slowdown below 1, or not finite");
  CHECK(refused([](Scenario& s, SimulationOptions&) {
          s.profile.between.outcast.points = {{4, 2}, {3, 3}};
        }) == "InvalidArgument: profile: between, outcast, point 2: peers that are not above those before");
  CHECK(refused([](Scenario& s, SimulationOptions&) { s.training.gradients[2].ready_s = 1; }) ==
        "InvalidArgument: model: gradient layer2: ready_seconds 1, expected 0 to backward_seconds");
  CHECK(refused([](Scenario& s, SimulationOptions&) { s.decisions[1].codec.name = "zip"; }) ==
        "InvalidArgument: gradient layer1: no codec zip");
  const std::string one_hop = refused([](Scenario& s, SimulationOptions&) {
    s.decisions[1] = {{"byte", {}}, {"half", {}}, StrategyKind::kAllGather, 1, 0};
  });
  CHECK(one_hop.starts_with("PlanError: gradient layer1: strategy `all_gather` has one hop only"));
  const std::string many = refused([](Scenario& s, SimulationOptions&) {
    for (Decision& decision : s.decisions) decision.partitions = 1 << 30;
    for (TrainedGradient& gradient : s.training.gradients) gradient.spec.shape = {1 << 30};
  });
  CHECK(many.find("tasks in a step, expected at most 32000000") != std::string::npos);
}

}  // namespace casync
