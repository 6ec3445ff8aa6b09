// SPDX-License-Identifier: Apache-2.0
//
// Plans that can be checked by hand, as they are written.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <set>

#include "casync/planner/decide.h"
#include "casync/planner/plan_module/plan_io.h"
#include "casync/planner/search/alternatives.h"
#include "casync/planner/search/drifting_alternatives.h"
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

/// Two ranks, links of 1 us a byte that cost nothing else, codecs that cost `codec_s` an element.
PlanRequest by_hand(double codec_s) {
  PlanRequest request;
  request.topology = {2, {0, 1}};
  request.profile = ideal(1e-6);
  request.profile.codecs["byte"] = {Curve::affine(0, codec_s), Curve::affine(0, codec_s), Curve::affine(0, codec_s)};
  request.training.gradients = {{{"large", DType::kFloat32, {4096}}, 0, 0}, {{"small", DType::kFloat32, {4}, 1}, 0, 0}};
  request.facts_of = facts_of;
  request.codecs = {{{"byte", {}}, 1e-4}};
  return request;
}

/// Four asynchronous ranks that do nothing but exchange one gradient.
PlanRequest asynchronous_ranks() {
  PlanRequest made = request(4, 1, slow_network(), 1);
  made.training.backward_s = made.training.forward_s = 0;
  made.training.gradients = {{{"large", DType::kFloat32, {100'000}}, 0, 0}};
  made.mode.asynchronous = Asynchronous{};
  return made;
}

Profile hipress_constants() {
  Profile profile;
  profile.memory_bytes_per_second = 7.2e11;
  profile.between = {0, 0, {{{0, 2.034e-4}, {4e9, 0.8502534}}}};
  profile.inside = profile.between;
  profile.codecs["one"] = {{{{0, 5.89e-5}, {1e9, 0.0141919}}}, {{{0, 1.396e-4}, {1e9, 0.0063437}}}, {}};
  return profile;
}

}  // namespace

TEST_CASE("planner: one codec that costs nothing on a link that costs much: a quarter of the bytes") {
  const PlanRequest request = by_hand(0);
  const Result<PlanReport> report = find_plan(request);
  REQUIRE(report.status().text() == "OK");
  // 4096 elements of a byte: half of them there and half back on each rank, and both small gradients' codes.
  CHECK(report->simulation.step_s == Approx(4096e-6).epsilon(0.01));
  CHECK(report->step.decisions[0].codec.name == "byte");
}

TEST_CASE("planner: it compresses on an idle link, too, if messages take a rank's one processor from its training") {
  PlanRequest request = by_hand(1e-9);
  request.profile.inside.wire = request.profile.between.wire = Curve::affine(0, 1e-9);
  request.profile.contention = Contention::of_all(2);
  request.profile.processors = 1;
  // The gradient is ready long until it is needed: nobody waits for the link.
  request.training.forward_s = 1;
  for (TrainedGradient& gradient : request.training.gradients) gradient.need_s = 1;
  const Result<PlanReport> idle = find_plan(request);
  REQUIRE(idle.status().text() == "OK");
  CHECK(idle->step.decisions[0].codec.name == "none");
  for (Link* link : {&request.profile.inside, &request.profile.between}) {
    link->send_work = link->receive_work = Curve::affine(0, 1e-6);
  }
  const Result<PlanReport> busy = find_plan(request);
  REQUIRE(busy.status().text() == "OK");
  CHECK(busy->step.decisions[0].codec.name == "byte");
  // A rank sends 4096 bytes of codes and receives as many: what its processor takes for them, training loses.
  CHECK(busy->simulation.step_s == Approx(1 + 2 * 4096e-6).epsilon(0.001));
  CHECK(busy->reason[0].find("ms less of messages for") != std::string::npos);
}

TEST_CASE("planner: a codec that takes longer than it saves is not used") {
  const Result<PlanReport> report = find_plan(by_hand(1e-4));
  REQUIRE(report.status().text() == "OK");
  CHECK(report->step.decisions[0].codec.name == "none");
  CHECK(report->simulation.step_s == Approx(4 * 4096e-6).epsilon(0.01));
  CHECK(report->reason[0].find("as it is") != std::string::npos);
}

TEST_CASE("planner: the plan file has an entry and a reason for each gradient, and reads back to the same") {
  const PlanRequest request = by_hand(0);
  const Result<PlanReport> report = find_plan(request);
  REQUIRE(report.status().text() == "OK");
  const Plan plan = written_plan(request, report->step, "0123456789abcdef");
  const std::string text = with_comments(plan_text(plan), {"by the planner"}, report->reason);
  CAPTURE(text);
  CHECK(text.starts_with("# by the planner\n"));
  CHECK(text.find("gradient { name: \"large\" codec { name: \"byte\" } strategy: ") != std::string::npos);
  CHECK(text.find("}  # ") != std::string::npos);
  CHECK(text.find("world { ranks: 2 nodes: 2 profile_digest: \"0123456789abcdef\" }") != std::string::npos);
  const Result<Plan> again = parse_plan(text, "plan");
  REQUIRE(again.status().text() == "OK");
  CHECK(plan_text(*again) == plan_text(plan));
  for (std::size_t g = 0; g < request.training.gradients.size(); ++g) {
    CHECK(decide(*again, request.training.gradients[g].spec, 2, payload_bits(request.facts_of)) ==
          report->step.decisions[g]);
  }
}

TEST_CASE("planner: warm-up is written where something is compressed, and nowhere else") {
  PlanRequest request = by_hand(0);
  request.warm_up_steps = 50;
  PlannedStep step{"", {{{"byte", {}}, {"byte", {}}, StrategyKind::kPs, 2, 0}, {{}, {}, StrategyKind::kPs, 1, 1}}, 0};
  const Plan plan = written_plan(request, step, "");
  CHECK(plan.gradients[0].choice.warm_up_steps == 50u);
  CHECK(!plan.gradients[1].choice.warm_up_steps);
}

TEST_CASE("planner: SeCoPa's rule compresses from the size on that its own program does") {
  // Its ring-send line as a link: 4 nodes, compressed to a sixteenth.
  PlanRequest request = by_hand(0);
  request.topology = {4, {0, 1, 2, 3}};
  request.profile = hipress_constants();
  request.facts_of = [](const CodecChoice& choice) -> Result<CodecFacts> {
    if (choice.name == "none") return CodecFacts{"none", {.exact_merge = true}, true, 0};
    return CodecFacts{"one", {.bits_per_element = 2}, false, 0};
  };
  // 102.8 million floats: the largest gradient of VGG19. Tiny ones stay as they are.
  request.training.gradients = {{{"fc", DType::kFloat32, {102760448}}, 0, 0},
                                {{"bias", DType::kFloat32, {64}, 1}, 0, 0}};
  Evaluator evaluator(request);
  const Result<Decision> large = secopa(evaluator, 0, {"one", {}}), small = secopa(evaluator, 1, {"one", {}});
  REQUIRE(large.status().text() == "OK");
  CHECK(large->codec.name == "one");
  CHECK(large->partitions == 4);
  CHECK(small->codec.name == "none");
}

TEST_CASE("planner: alternatives have the plan's decision among them, the shortest step first") {
  const PlanRequest request = by_hand(0);
  const PlannedStep step{"", {{{}, {}, StrategyKind::kRing, 2, 0}, {{}, {}, StrategyKind::kPs, 1, 1}}, 0};
  const Result<std::vector<Alternative>> all = alternatives(request, step, "large");
  REQUIRE(all.status().text() == "OK");
  CHECK(std::count_if(all->begin(), all->end(), [](const Alternative& a) { return a.planned; }) == 1);
  for (std::size_t i = 1; i < all->size(); ++i) CHECK((*all)[i - 1].step_s <= (*all)[i].step_s);
  CHECK(all->front().decision.codec.name == "byte");
  CHECK(alternatives(request, step, "larg").status().message() ==
        "the model has no gradient `larg` (did you mean `large`?)");
}

TEST_CASE("planner: alternatives stay within the limits, and a plan's way that does not is marked") {
  PlanRequest request = by_hand(0);
  request.limits.resize(2);  // nothing is encoded
  request.limits[0].strategy = StrategyKind::kPs;
  const Decision plain{{}, {}, StrategyKind::kPs, 1, 0}, coded{{"byte", {}}, {"byte", {}}, StrategyKind::kPs, 1, 0};
  for (const Decision& decision : {plain, coded}) {
    const Result<std::vector<Alternative>> all = alternatives(request, {"", {decision, plain}, 0}, "large");
    REQUIRE(all.status().text() == "OK");
    for (const Alternative& one : *all) {
      CHECK(one.decision.strategy == StrategyKind::kPs);
      CHECK(one.allowed == (one.decision.codec.name == "none"));
      if (!one.planned) CHECK(one.allowed);
    }
    CHECK(std::count_if(all->begin(), all->end(), [](const Alternative& a) { return a.planned; }) == 1);
  }
  request.limits.pop_back();
  CHECK(alternatives(request, {"", {plain, plain}, 0}, "large").status().message() ==
        "limits of 1 gradients, and there are 2");
}

TEST_CASE("planner: alternatives of asynchronous ranks have the best number of partitions, or of many the nearest") {
  const PlanRequest asked = asynchronous_ranks();
  const PlannedStep step{"", {{{"byte", {}}, {"byte", {}}, StrategyKind::kPs, 3, 0}}, 0};
  const Result<std::vector<Alternative>> all = drifting_alternatives(asked, step, 0),
                                         few = drifting_alternatives(asked, step, 0, 1);
  REQUIRE(all.status().text() == "OK");
  REQUIRE(few.status().text() == "OK");
  CHECK(all->size() == few->size());
  bool has_others = false;
  for (const Alternative& one : *few) {
    const auto same = std::find_if(all->begin(), all->end(), [&](const Alternative& other) {
      return other.planned == one.planned && other.decision.codec == one.decision.codec &&
             other.decision.second_hop == one.decision.second_hop;
    });
    REQUIRE(same != all->end());
    CHECK(one.nearest_partitions);
    CHECK_FALSE(same->nearest_partitions);
    CHECK(same->step_s <= one.step_s);
    CHECK(one.decision.partitions == (one.planned ? 3 : 2));
    has_others = has_others || (!one.planned && same->decision.partitions != 2);
  }
  CHECK(has_others);
}

TEST_CASE("planner: the planned way of asynchronous ranks is not among its alternatives a second time") {
  PlanRequest asked = asynchronous_ranks();
  asked.limits.resize(1);
  asked.limits[0].offers = {0, 1};
  asked.limits[0].partitions = 4;
  const Decision planned{{"byte", {}}, {"byte", {}}, StrategyKind::kPs, 4, 0};
  const Result<std::vector<Alternative>> all = drifting_alternatives(asked, {"", {planned}, 0}, 0);
  REQUIRE(all.status().text() == "OK");
  CHECK(all->size() > 1);
  CHECK(std::count_if(all->begin(), all->end(), [&](const Alternative& one) {
          return one.decision.codec == planned.codec && one.decision.second_hop == planned.second_hop;
        }) == 1);
}

TEST_CASE("planner: the crossover has what some gradient may have, next to sending as it is") {
  PlanRequest request = by_hand(1e-9);
  request.codecs.push_back({{"half", {}}, 1e-6});
  const auto codecs = [&] {
    const Result<Crossover> made = crossover(request, 8, 4);
    REQUIRE(made.status().text() == "OK");
    std::set<std::string> names;
    for (const Crossover::Cell& cell : made->cells) {
      names.insert(cell.decision.codec.name);
      names.insert(cell.decision.second_hop.name);
      CHECK(std::isfinite(cell.plain_s));
    }
    return names;
  };
  const std::set<std::string> free = codecs();
  CHECK(free.contains("byte"));
  request.limits.resize(2);
  CHECK(codecs() == std::set<std::string>{"none"});
  request.limits[1].offers = {1};
  CHECK(codecs().contains("half"));
  CHECK_FALSE(codecs().contains("byte"));
  request.limits[0].codec = CodecChoice{"byte", {}};  // fixed, for a gradient of 512 partitions
  request.limits[0].partitions = 512;
  CHECK(codecs().contains("byte"));
}

TEST_CASE("planner: the crossover falls with what a codec costs, and rises with what it saves") {
  PlanRequest request = by_hand(1e-9);
  const Result<Crossover> cheap = crossover(request, 16, 6);
  REQUIRE(cheap.status().text() == "OK");
  REQUIRE(cheap->cells.size() == 16 * 6);
  request = by_hand(1e-7);
  const Result<Crossover> dear = crossover(request, 16, 6);
  REQUIRE(dear.status().text() == "OK");
  for (std::size_t size = 0; size < 6; ++size) {
    CHECK(dear->pays_below[size].value_or(0) <= cheap->pays_below[size].value_or(0));
  }
  CHECK(cheap->pays_below[5].has_value());
  for (const Crossover::Cell& cell : cheap->cells) CHECK(cell.seconds <= cell.plain_s);
}

TEST_CASE("planner: what recorded gradients lose says nothing about the sizes of the crossover") {
  PlanRequest request = test::request(8, 1, slow_network());
  request.codecs = {{{"byte", {}}, 1e-4}};
  Limits limits;
  limits.offers = {0};
  limits.strategy = StrategyKind::kRing;  // encodes sums again, within this budget
  limits.max_error = 0.03;
  request.limits = all_alike(request, limits);
  const Result<Crossover> typical = crossover(request, 8, 4);
  REQUIRE(typical.status().text() == "OK");
  CHECK(typical->cells[3].decision.codec.name == "byte");  // the largest size over the slowest link
  request.codecs[0].recorded.assign(request.training.gradients.size(), 1.0);
  const Result<Crossover> recorded = crossover(request, 8, 4);
  REQUIRE(recorded.status().text() == "OK");
  for (std::size_t i = 0; i < typical->cells.size(); ++i) {
    CHECK(recorded->cells[i].decision == typical->cells[i].decision);
  }
}

}  // namespace casync
