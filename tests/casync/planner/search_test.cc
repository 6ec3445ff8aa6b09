// SPDX-License-Identifier: Apache-2.0
//
// Properties of every plan that the planner finds.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "casync/planner/decide.h"
#include "casync/planner/search/gradient_classes.h"
#include "casync/planner/search/limits.h"
#include "casync/planner/search/options.h"
#include "casync/planner/search/payload_bits.h"
#include "casync/planner/search/reasons.h"
#include "casync/planner/search/references.h"
#include "casync/planner/search/search.h"
#include "casync/planner/search/written_plan.h"
#include "tests/casync/planner/requests.h"
#include "tests/casync/simulator/scenarios.h"

namespace casync {
namespace {

using namespace test;

Curve scaled(Curve curve, double factor) {
  for (Curve::Point& point : curve.points) point.seconds *= factor;
  return curve;
}

PlanRequest scaled(PlanRequest request, double factor) {
  request.profile.memory_bytes_per_second /= factor;
  request.profile.launch_s *= factor;
  for (Link* link : {&request.profile.inside, &request.profile.between}) {
    *link = {link->latency_s * factor, link->message_s * factor, scaled(link->wire, factor)};
  }
  request.training.backward_s *= factor;
  request.training.forward_s *= factor;
  for (TrainedGradient& gradient : request.training.gradients) {
    gradient.ready_s *= factor;
    gradient.need_s *= factor;
  }
  return request;
}

}  // namespace

TEST_CASE("planner: a scattered gradient has its one way, and is cheaper than one that comes back") {
  for (const int ranks : {2, 4}) {
    PlanRequest one = request(ranks, 1, slow_network());
    for (TrainedGradient& gradient : one.training.gradients) {
      const auto elements = static_cast<std::int64_t>(round_up(gradient.spec.elements(), std::size_t{4}));
      gradient.spec.shape = {elements};
    }
    const double whole = found(one).simulation.step_s;
    for (TrainedGradient& gradient : one.training.gradients) gradient.spec.scattered = true;
    const PlanReport report = found(one);
    CHECK(report.simulation.step_s < whole);
    for (const Decision& decision : report.step.decisions) {
      CHECK(decision.strategy == StrategyKind::kPs);
      CHECK(decision.codec == decision.second_hop);
    }
  }
}

TEST_CASE("planner: a scattered gradient leaves another of its size the options and costs of its own") {
  PlanRequest ordinary = request(4, 1, slow_network(), 3);
  for (TrainedGradient& gradient : ordinary.training.gradients) gradient.spec.shape = {1 << 18};
  PlanRequest mixed = ordinary;
  mixed.training.gradients[0].spec.scattered = true;
  Evaluator evaluator(mixed);
  const Result<GradientClasses> classes = GradientClasses::make(evaluator, 0);
  REQUIRE(classes.status().text() == "OK");
  CHECK(classes->of(1).gradients == std::vector<std::size_t>{1, 2});
  for (const std::size_t g : {0u, 1u}) {
    const Result<std::vector<const Option*>> own = all_options(evaluator, g);
    REQUIRE(own.status().text() == "OK");
    CHECK(classes->of(g).options == worthwhile(*own, 0));
  }
  // The scattered one is asked first, and has no second hop.
  Decision coded = decision(StrategyKind::kPs, 4, "byte");
  coded.second_hop = {"half", {}};
  Evaluator anew(mixed), alone(ordinary);
  const Result<const Option*> scattered = anew.option(0, coded), beside = anew.option(1, coded);
  const Result<const Option*> expected = alone.option(1, coded);
  REQUIRE(scattered.status().text() == "OK");
  REQUIRE(beside.status().text() == "OK");
  REQUIRE(expected.status().text() == "OK");
  CHECK((*beside)->outline.alone_s() == (*expected)->outline.alone_s());
  CHECK((*scattered)->outline.alone_s() < (*beside)->outline.alone_s());
}

TEST_CASE("planner: partitions are as somebody says, else the usual ones unless others make the step shorter") {
  for (PlanRequest request : requests()) {
    CAPTURE(request.topology.ranks);
    request.profile.contention = Contention::of_all(2);
    const PlanReport report = found(request);
    PlanReport usual = report;
    for (std::size_t g = 0; g < usual.step.decisions.size(); ++g) {
      usual.step.decisions[g].partitions =
          default_partitions(usual.step.decisions[g], request.training.gradients[g].spec, request.topology.ranks,
                             payload_bits(request.facts_of));
    }
    if (!(usual.step.decisions == report.step.decisions)) {
      Evaluator evaluator(request);
      const Result<Simulation> simulation = evaluator.judge(usual.step, report.all_ranks);
      REQUIRE(simulation.status().text() == "OK");
      CHECK(simulation->step_s > report.simulation.step_s);
    }
    PlanRequest fixed = request;
    Limits limits;
    limits.partitions = 3;
    fixed.limits = all_alike(fixed, limits);
    for (const Decision& decision : found(fixed).step.decisions) CHECK(decision.partitions == 3);
  }
}

TEST_CASE("planner: never worse than any reference plan, whatever training and codecs take from each other") {
  for (PlanRequest request : requests()) {
    request.profile.contention.training = request.topology.ranks % 2 == 0 ? 1 : 2;
    CAPTURE(request.topology.ranks);
    const PlanReport report = found(request);
    CHECK(report.all_ranks);
    CHECK(report.compared.size() >= 12);
    for (const PlanReport::Compared& other : report.compared) {
      CAPTURE(other.name);
      CHECK(report.simulation.step_s <= kAsShort * other.step_s);
    }
  }
}

TEST_CASE("planner: its time of a step is the simulator's of the plan it writes") {
  for (const PlanRequest& request : requests()) {
    const PlanReport report = found(request);
    Scenario scenario{request.topology,         request.profile, request.training, report.step.decisions,
                      report.step.fusion_bytes, request.mode,    request.facts_of};
    CHECK(simulated(scenario).step_s == report.simulation.step_s);
  }
}

TEST_CASE("planner: plans for steps that exchange seldom, or late, are written and predicted as such") {
  for (const SyncMode& mode : {SyncMode{.every = 8, .from_step = 100}, SyncMode{.staleness = 1}}) {
    Profile slower = slow_network();
    slower.between.wire = Curve::affine(1e-6, 8e-8);
    PlanRequest each = request(6, 2, slower), seldom = each;
    seldom.mode = mode;
    const PlanReport report = found(seldom);
    CHECK(written_plan(seldom, report.step, "").mode == mode);
    CHECK(report.simulation.step_s < found(each).simulation.step_s);
    CHECK(report.compared.size() >= 12);
    for (const PlanReport::Compared& other : report.compared)
      CHECK(report.simulation.step_s <= kAsShort * other.step_s);
    Scenario scenario{seldom.topology,          seldom.profile, seldom.training, report.step.decisions,
                      report.step.fusion_bytes, mode,           seldom.facts_of};
    CHECK(simulated(scenario).step_s == report.simulation.step_s);
  }
}

TEST_CASE("planner: fusion stays as it is unless another makes the step shorter") {
  // All are ready at once, each message costs much, and no two of them fit into one of the usual size.
  PlanRequest dear = test::request(2, 1, ideal(1e-9), 50);
  dear.profile.between.message_s = dear.profile.inside.message_s = 1e-3;
  dear.training.backward_s = dear.training.forward_s = 0;
  for (TrainedGradient& gradient : dear.training.gradients)
    gradient = {{gradient.spec.name, DType::kFloat32, {10'000}}};
  std::vector<PlanRequest> all = requests();
  all.push_back(dear);
  std::size_t others = 0;
  for (const PlanRequest& request : all) {
    CAPTURE(request.topology.ranks);
    const PlanReport report = found(request);
    if (report.step.fusion_bytes == Plan{}.fusion_bytes) continue;
    ++others;
    CHECK(simulated({request.topology, request.profile, request.training, report.step.decisions, Plan{}.fusion_bytes,
                     request.mode, request.facts_of})
              .step_s > report.simulation.step_s);
  }
  CHECK(others > 0);
}

TEST_CASE("planner: another strategy than ps makes the step shorter by more than predictions err") {
  std::size_t others = 0;
  for (const PlanRequest& request : requests()) {
    const PlanReport report = found(request);
    PlannedStep usual = report.step;
    for (Decision& decision : usual.decisions) decision.strategy = StrategyKind::kPs;
    if (usual.decisions == report.step.decisions) continue;
    ++others;
    Evaluator evaluator(request);
    const Result<Simulation> simulation = evaluator.judge(usual, report.all_ranks);
    REQUIRE(simulation.status().text() == "OK");
    CHECK(simulation->step_s > report.simulation.step_s);
  }
  CHECK(others > 0);
}

TEST_CASE("planner: many small gradients go by ps, where they travel in bundles") {
  PlanRequest request = test::request(2, 1, awkward());
  request.profile.task_s = 3e-6;
  request.training.gradients.clear();
  request.training.backward_s = request.training.forward_s = 0;
  for (int i = 0; i < 400; ++i) {
    request.training.gradients.push_back({{"g" + std::to_string(i), DType::kFloat32, {96}, i}, 0, 0});
  }
  const PlanReport alone = found(request);
  request.profile.bundled_task_s = 0.1e-6;
  const PlanReport bundled = found(request);
  for (const Decision& decision : bundled.step.decisions) {
    CHECK(decision.strategy == StrategyKind::kPs);
    CHECK(decision.partitions == 1);
  }
  CHECK(bundled.simulation.step_s < 0.8 * alone.simulation.step_s);
}

TEST_CASE("planner: the same request, the same plan") {
  for (const PlanRequest& request : requests()) {
    const PlanReport once = found(request), again = found(request);
    CHECK(once.step.decisions == again.step.decisions);
    CHECK(once.step.fusion_bytes == again.step.fusion_bytes);
    CHECK(once.reason == again.reason);
  }
}

TEST_CASE("planner: everything so many times as slow: the same plan, a step so many times as long") {
  for (const PlanRequest& request : requests()) {
    const PlanReport here = found(request), there = found(scaled(request, 4));
    CHECK(here.step.decisions == there.step.decisions);
    CHECK(there.simulation.step_s == here.simulation.step_s * 4);
  }
}

TEST_CASE("planner: nothing is compressed where the link is fast, and nearly all where it is slow") {
  Profile fast = awkward();
  fast.between.wire = fast.inside.wire = Curve::affine(0, 1e-13);
  const PlanReport plain = found(request(4, 1, fast));
  for (const Decision& decision : plain.step.decisions) CHECK(!compresses(decision));
  Profile slow = awkward();
  slow.between.wire = Curve::affine(0, 1e-6);
  slow.memory_bytes_per_second = std::numeric_limits<double>::infinity();
  slow.launch_s = 0;
  PlanRequest all = request(4, 1, slow);
  const PlanReport coded = found(all);
  double bytes = 0;
  for (std::size_t g = 0; g < coded.step.decisions.size(); ++g) {
    if (!compresses(coded.step.decisions[g])) bytes += static_cast<double>(all.training.gradients[g].spec.bytes());
  }
  CHECK(bytes < 20000);  // all gradients have 3 MB
}

TEST_CASE("planner: no codec is used that is not allowed") {
  PlanRequest only = request(4, 1, slow_network());
  only.codecs.clear();
  for (const Decision& decision : found(only).step.decisions) CHECK(!compresses(decision));
  only.codecs = {{{"half", {}}, 1e-6}};
  for (const Decision& decision : found(only).step.decisions) {
    CHECK((decision.codec.name == "none" || decision.codec.name == "half"));
    CHECK((decision.second_hop.name == "none" || decision.second_hop.name == "half"));
  }
}

TEST_CASE("planner: more codecs never make a longer step") {
  for (PlanRequest request : requests()) {
    const double both = found(request).simulation.step_s;
    request.codecs.pop_back();
    const double one = found(request).simulation.step_s;
    request.codecs.clear();
    // It searches, and does not try everything: another way there may be a little better.
    CHECK(both <= one * 1.02);
    CHECK(one <= found(request).simulation.step_s * 1.02);
  }
}

TEST_CASE("planner: 400 gradients at 128 and at 4096 ranks") {
  for (const int ranks : {128, 4096}) {
    const PlanRequest large = transformer(ranks, 8, slow_network());
    const PlanReport report = found(large);
    CHECK(!report.all_ranks);
    CHECK(report.compared.size() >= 12);
    for (const PlanReport::Compared& other : report.compared) {
      CAPTURE(other.name);
      CHECK(report.simulation.step_s <= kAsShort * other.step_s);
    }
  }
}

TEST_CASE("planner: a model without gradients, a group of one rank") {
  PlanRequest empty = request(4, 1, awkward(), 0);
  CHECK(found(empty).simulation.step_s == Approx(0.03));
  const PlanReport alone = found(request(1, 1, awkward()));
  for (const Decision& decision : alone.step.decisions) CHECK(!compresses(decision));
}

TEST_CASE("planner: nonsense is refused, and says what it is") {
  const auto refused = [](const PlanRequest& request) {
    const Result<PlanReport> report = find_plan(request);
    REQUIRE(!report.is_ok());
    return report.status().message();
  };
  PlanRequest wrong = request(4, 1, awkward());
  wrong.profile.memory_bytes_per_second = 0;
  CHECK(refused(wrong) == "profile: memory_bytes_per_second 0, expected a number above 0");
  wrong = request(4, 1, awkward());
  wrong.profile.between.latency_s = std::nan("");
  CHECK(refused(wrong) == "profile: between: latency_seconds nan, expected a finite number of at least 0");
  wrong = request(4, 1, awkward());
  wrong.profile.codecs["byte"].encode.points = {{0, 1}, {1, 0.5}};
  CHECK(refused(wrong).find("codec byte, encode, point 2") != std::string::npos);
  wrong = request(4, 1, awkward());
  wrong.training.gradients[3].ready_s = 1;
  CHECK(refused(wrong) == "model: gradient layer3: ready_seconds 1, expected 0 to backward_seconds");
  wrong = request(4, 1, awkward());
  wrong.codecs.push_back({{"zip", {}}, 0});
  CHECK(refused(wrong).find("no codec zip") != std::string::npos);
  wrong = request(4, 1, awkward());
  wrong.topology.ranks = 5;
  CHECK(refused(wrong) == "nodes of 4 ranks, and there are 5");
}

TEST_CASE("planner: any question has an answer that is not worse than the references, or a refusal") {
  std::mt19937_64 random(7);
  const auto one_of = [&](const auto& values) { return values[random() % std::size(values)]; };
  const double seconds[] = {0, 1e-9, 1e-6, 1e-3, 1, 1e6};
  const double rates[] = {1, 1e6, 1e11, std::numeric_limits<double>::infinity()};
  const std::int64_t sizes[] = {0, 1, 2, 63, 64, 1000, 1 << 20, 1 << 24};
  for (int round = 0; round < 40; ++round) {
    const int ranks = 1 + static_cast<int>(random() % 7);
    PlanRequest odd = request(ranks, 1 + static_cast<int>(random() % 4), awkward(), static_cast<int>(random() % 6));
    odd.profile.memory_bytes_per_second = one_of(rates);
    odd.profile.launch_s = one_of(seconds);
    odd.profile.contention = Contention::of_all(one_of(std::vector{1.0, 1.5, 1000.0}));
    odd.profile.node_shares_port = random() % 2 == 0;
    for (Link* link : {&odd.profile.inside, &odd.profile.between}) {
      *link = {one_of(seconds), one_of(seconds), random() % 4 == 0 ? Curve{} : Curve::affine(one_of(seconds), 1 / 1e8)};
    }
    for (TrainedGradient& gradient : odd.training.gradients) {
      gradient.spec.shape = {one_of(sizes)};
      gradient.spec.dtype = random() % 5 == 0 ? DType::kBFloat16 : DType::kFloat32;
    }
    CAPTURE(round, ranks);
    const Result<PlanReport> report = find_plan(odd);
    CHECK(report.status().text() == "OK");
    if (!report) continue;
    CHECK(std::isfinite(report->simulation.step_s));
    for (const PlanReport::Compared& other : report->compared)
      CHECK(report->simulation.step_s <= kAsShort * other.step_s);
  }
}

TEST_CASE("planner: a model of half precision has a plan, whatever strategies carry its elements") {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    for (PlanRequest half : requests()) {
      CAPTURE(half.topology.ranks);
      for (TrainedGradient& gradient : half.training.gradients) gradient.spec.dtype = dtype;
      const PlanReport report = found(half);
      CHECK(std::isfinite(report.simulation.step_s));
      CHECK(report.compared.size() >= 12);
    }
  }
}

TEST_CASE("planner: a codec that saves less than predictions are off is not used") {
  PlanRequest one = request(4, 1, slow_network(), 1);
  one.training.gradients[0].spec.shape = {1 << 20};
  one.training.backward_s = one.training.forward_s = 100;  // so long that the exchange is nothing
  one.training.gradients[0].ready_s = 100;
  one.training.gradients[0].need_s = 0;
  CHECK_FALSE(compresses(found(one).step.decisions[0]));
  one.training.backward_s = one.training.forward_s = one.training.gradients[0].ready_s = 0.01;
  CHECK(compresses(found(one).step.decisions[0]));
}

TEST_CASE("planner: ways that take as long become one") {
  for (const PlanRequest& request : requests()) {
    CAPTURE(request.topology.ranks);
    std::set<std::string> ways;
    for (const Decision& decision : found(request).step.decisions) {
      ways.insert(text_of(decision.codec) + text_of(decision.second_hop) + std::string(name_of(decision.strategy)));
    }
    CHECK(ways.size() <= 4);
  }
}

TEST_CASE("planner: nodes of different sizes are planned for with all their ranks") {
  PlanRequest uneven = request(5, 1, slow_network());
  uneven.topology.node_of = {0, 0, 0, 1, 1};
  const PlanReport report = found(uneven);
  CHECK(report.all_ranks);
  CHECK(report.compared.size() >= 12);
  for (const PlanReport::Compared& other : report.compared) CHECK(report.simulation.step_s <= kAsShort * other.step_s);
}

}  // namespace casync
