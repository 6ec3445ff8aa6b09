// SPDX-License-Identifier: Apache-2.0
//
// Plans in few words decide as the long ones do.
#include <catch2/catch.hpp>
#include <random>

#include "casync/planner/decide.h"
#include "casync/planner/plan_module/plan_io.h"
#include "casync/planner/search/compact.h"
#include "casync/planner/search/measured.h"
#include "casync/planner/search/reasons.h"
#include "tests/casync/planner/requests.h"
#include "tests/casync/simulator/scenarios.h"

namespace casync {
namespace {

constexpr int kRanks = 4;

double bits_of(const CodecChoice& choice) {
  return choice.name == "int4" ? 4.25 : choice.name == "int8" ? 8.125 : choice.name == "topk" ? 0.64 : 1;
}

Entry entry(const GradientSpec& gradient, const CodecChoice& codec, int partitions) {
  Entry made{gradient.name, {}};
  made.choice.codec = codec;
  made.choice.strategy = StrategyKind::kPs;
  made.choice.partitions = partitions;
  made.choice.priority = gradient.priority;
  return made;
}

/// Layers of two matrices, their biases and a norm each.
std::vector<GradientSpec> transformer_gradients(int layers) {
  std::vector<GradientSpec> gradients{{"embedding.weight", DType::kFloat32, {30000, 512}, 0}};
  const auto add = [&](const std::string& name, std::vector<std::int64_t> shape) {
    gradients.push_back({name, DType::kFloat32, std::move(shape), static_cast<int>(gradients.size())});
  };
  for (int layer = 0; layer < layers; ++layer) {
    const std::string of = "layers." + std::to_string(layer) + ".";
    for (const char* matrix : {"attention.", "mlp."}) {
      add(of + matrix + "weight", {512, 2048});
      add(of + matrix + "bias", {512});
    }
    add(of + "norm.weight", {512});
    add(of + "norm.bias", {512});
  }
  return gradients;
}

bool is_matrix(const GradientSpec& gradient) { return gradient.shape.size() > 1; }

Plan usual_plan(const std::vector<GradientSpec>& gradients) {
  Plan plan;
  for (const GradientSpec& gradient : gradients) {
    const int partitions = choose_partitions(gradient.bytes(), kRanks, kDefaultPartitionBytes);
    plan.gradients.push_back(
        entry(gradient, is_matrix(gradient) ? CodecChoice{"int4", {}} : CodecChoice{}, partitions));
  }
  return plan;
}

void check_same(const Plan& plan, const Plan& made, const std::vector<GradientSpec>& gradients) {
  for (const GradientSpec& gradient : gradients) {
    INFO(gradient.name);
    CHECK(decide(made, gradient, kRanks, bits_of) == decide(plan, gradient, kRanks, bits_of));
  }
}

}  // namespace

TEST_CASE("compacted plan: gradients with servers, and gradients without, decide as in the long plan") {
  const std::vector<GradientSpec> gradients = transformer_gradients(6);
  for (const bool matrices : {true, false}) {
    Plan plan;
    for (const GradientSpec& gradient : gradients) {
      const bool served = is_matrix(gradient) == matrices;
      const int owners = served ? 2 : kRanks;
      plan.gradients.push_back(entry(gradient, CodecChoice{"int4", {}},
                                     choose_partitions(gradient.bytes(), kRanks, owners, kDefaultPartitionBytes)));
      if (served) plan.gradients.back().choice.servers = Servers{2, true};
    }
    const Plan made = compacted(plan, gradients, kRanks, bits_of);
    check_same(plan, made, gradients);
    CHECK(made.gradients.empty());
    CHECK(made.rules.size() < 8);
    const Result<Plan> again = parse_plan(plan_text(made), "compacted");
    REQUIRE(again.status().text() == "OK");
    check_same(plan, *again, gradients);
  }
}

TEST_CASE("compacted plan: the number of partitions that most gradients have is the default, of equal ones the first") {
  std::vector<GradientSpec> gradients;
  Plan plan;
  for (const int partitions : {3, 2, 2, 3, 5}) {  // a size that a plan can say makes 1 of so few elements
    const auto g = static_cast<int>(gradients.size());
    gradients.push_back({"layers." + std::to_string(g) + ".weight", DType::kFloat32, {1000}, g});
    plan.gradients.push_back(entry(gradients.back(), CodecChoice{"int4", {}}, partitions));
  }
  const Plan tie = compacted(plan, gradients, kRanks, bits_of);
  check_same(plan, tie, gradients);
  CHECK(tie.defaults.partitions == 3);
  plan.gradients[4].choice.partitions = 2;
  const Plan most = compacted(plan, gradients, kRanks, bits_of);
  check_same(plan, most, gradients);
  CHECK(most.defaults.partitions == 2);
}

TEST_CASE("compacted plan: a transformer of 75 gradients is a default and rules for its biases and norms") {
  std::vector<GradientSpec> gradients = transformer_gradients(12);
  gradients.push_back({"head.weight", DType::kFloat32, {512, 1000}, 73});
  gradients.push_back({"head.bias", DType::kFloat32, {1000}, 74});
  REQUIRE(gradients.size() == 75);
  const Plan plan = usual_plan(gradients), made = compacted(plan, gradients, kRanks, bits_of);
  check_same(plan, made, gradients);
  CHECK(made.gradients.empty());
  REQUIRE(made.rules.size() == 2);
  CHECK(made.rules[0].match == "*.bias");
  CHECK(made.rules[1].match == "*.norm.weight");
  CHECK(made.defaults.codec->name == "int4");
  CHECK_FALSE(made.defaults.partitions);
  CHECK_FALSE(made.rules[0].choice.priority);
  const std::string text = with_rule_comments(plan_text(made), {"2 x: 20 ms uncompressed, 10 ms with this plan"},
                                              shares_of(made, gradients));
  INFO(text);
  CHECK(std::count(text.begin(), text.end(), '\n') <= 20);
  CHECK(text.find("match: \"*.bias\"") != std::string::npos);
  CHECK(text.find("}  # 37 gradients, ") != std::string::npos);
  CHECK(text.find("}  # all others: 26 gradients, ") != std::string::npos);
  const Result<Plan> again = parse_plan(text, "plan");
  REQUIRE(again.status().text() == "OK");
  check_same(plan, *again, gradients);
}

TEST_CASE("compacted plan: exceptions have rules of their own, stronger than the wide ones") {
  std::vector<GradientSpec> gradients = transformer_gradients(6);
  Plan plan = usual_plan(gradients);
  for (Entry& each : plan.gradients) {
    if (each.name == "layers.3.mlp.weight") each.choice.codec = CodecChoice{"int8", {{"block", 64}}};
    if (each.name == "layers.2.norm.bias") each.choice.partitions = 3;
  }
  const Plan made = compacted(plan, gradients, kRanks, bits_of);
  check_same(plan, made, gradients);
  CHECK(made.rules.size() <= 5);
}

TEST_CASE("compacted plan: the default's partitions, warm-up, priority and memory are not meant for the others") {
  const std::vector<GradientSpec> gradients = transformer_gradients(8);
  for (const int what : {0, 1, 2, 3}) {
    Plan plan = usual_plan(gradients);
    for (std::size_t g = 0; g < gradients.size(); ++g) {
      Choice& choice = plan.gradients[g].choice;
      if (!is_matrix(gradients[g])) continue;
      if (what == 0) choice.partitions = 16;
      if (what == 1) choice.warm_up_steps = 100;
      if (what == 2) choice.priority = 3;
      if (what == 3) choice.residual_memory = ResidualMemory::kOneBuffer;
    }
    const Plan made = compacted(plan, gradients, kRanks, bits_of);
    CAPTURE(what);
    check_same(plan, made, gradients);
    CHECK(made.gradients.empty());
    CHECK(made.rules.size() <= 4);
  }
}

TEST_CASE("compacted plan: the steps ahead of local SGD are said once, by the mode") {
  const std::vector<GradientSpec> gradients = transformer_gradients(6);
  Plan plan = usual_plan(gradients);
  plan.mode.every = 8;
  plan.mode.from_step = 1000;
  plan.gradients[0].choice.warm_up_steps = 2000;
  plan.gradients[1].choice.warm_up_steps = 500;  // which the mode makes 1000
  const Plan made = compacted(plan, gradients, kRanks, bits_of);
  check_same(plan, made, gradients);
  const std::string text = plan_text(made);
  INFO(text);
  CHECK(text.find("from_step: 1000") != std::string::npos);
  CHECK(text.find("warm_up_steps: 2000") != std::string::npos);
  CHECK(text.find("warm_up_steps: 1000") == std::string::npos);
  CHECK(text.find("warm_up_steps: 500") == std::string::npos);
}

TEST_CASE("compacted plan: the short one decides as the plan does") {
  std::mt19937 random(5);
  const CodecChoice codecs[] = {{}, {"int4", {}}, {"int8", {{"block", 64}}}, {"topk", {{"ratio", 0.01}}}};
  for (int round = 0; round < 60; ++round) {
    std::vector<GradientSpec> gradients;
    const int count = 1 + static_cast<int>(random() % 40);
    for (int g = 0; g < count; ++g) {
      std::string name;
      for (unsigned part = 0; part <= random() % 4; ++part)
        name += (name.empty() ? "" : ".") + std::to_string(random() % 5);
      name += std::string(random() % 3, "*?."[random() % 3]) + "." + std::to_string(g);
      gradients.push_back({name, DType::kFloat32, {1 + static_cast<std::int64_t>(random() % 3000000)}, g});
    }
    Plan plan;
    for (const GradientSpec& gradient : gradients) {
      plan.gradients.push_back(entry(gradient, codecs[random() % 4], 1 + static_cast<int>(random() % 5)));
      Choice& choice = plan.gradients.back().choice;
      if (random() % 4 == 0) choice.second_hop = codecs[random() % 4];
      if (random() % 4 == 0) choice.priority = 7;
      if (random() % 4 == 0) choice.warm_up_steps = 10;
      if (random() % 4 == 0) choice.warm_up_from = WarmUpFrom{"ratio", 0.25 * static_cast<double>(random() % 3)};
      if (random() % 4 == 0) choice.residual_memory = kResidualMemories[random() % 3];
      if (random() % 4 == 0) choice.strategy = StrategyKind::kRing;
      if (random() % 4 == 0 && choice.strategy == StrategyKind::kPs) {
        choice.servers = Servers{1 + static_cast<int>(random() % 2), random() % 2 == 0};
      }
    }
    CAPTURE(round);
    const Plan made = compacted(plan, gradients, kRanks, bits_of);
    check_same(plan, made, gradients);
    const Result<Plan> again = parse_plan(plan_text(made), "compacted");
    REQUIRE(again.status().text() == "OK");
    check_same(plan, *again, gradients);
  }
}

TEST_CASE("compacted plan: partitions that follow from payloads are not said, whatever the default says") {
  constexpr int kMany = 256;
  const std::vector<GradientSpec> gradients = transformer_gradients(6);
  for (const int what : {0, 1, 2}) {
    Plan plan;
    for (const GradientSpec& gradient : gradients) {
      plan.gradients.push_back(
          entry(gradient, CodecChoice{is_matrix(gradient) || what == 2 ? "onebit" : "none", {}}, 1));
      Choice& choice = plan.gradients.back().choice;
      // The embedding has most of the bytes, so what it says is the default.
      const bool says = what == 1 && gradient.name == "embedding.weight";
      choice.partitions.reset();
      const int usual = decide(plan, gradient, kMany, bits_of).partitions;
      if (is_matrix(gradient) && !says) {
        CHECK(usual < choose_partitions(gradient.bytes(), kMany, kDefaultPartitionBytes));
      }
      choice.partitions = says ? 100 : usual;
    }
    const Plan made = compacted(plan, gradients, kMany, bits_of);
    CAPTURE(what);
    for (const GradientSpec& gradient : gradients) {
      CHECK(decide(made, gradient, kMany, bits_of) == decide(plan, gradient, kMany, bits_of));
    }
    CHECK(made.gradients.empty());
    CHECK(made.rules.size() <= 5);
    const auto says = [](const Choice& choice) { return choice.partitions || choice.partition_bytes; };
    const auto rules =
        std::count_if(made.rules.begin(), made.rules.end(), [&](const Rule& r) { return says(r.choice); });
    CHECK(rules + (says(made.defaults) ? 1 : 0) == (what == 1 ? 1 : 0));
  }
}

TEST_CASE("assumed costs: codecs of a step that the profile says nothing of") {
  Profile profile;
  const PlannedStep step{"", {{{"int4", {}}, {"int8", {}}}, {{}, {}}, {{"int8", {{"block", 64}}}, {"int4", {}}}}, 0};
  CHECK_FALSE(measures_codecs(profile));
  CHECK(assumed_codecs(profile, step) == std::vector<std::string>{"int4", "int8", "int8:block=64"});
  profile.codecs["int8"].encode = Curve::affine(0, 1e-9);
  CHECK(measures_codecs(profile));
  CHECK(is_measured(profile, {"int8", {{"block", 64}}}));
  CHECK(is_measured(profile, {}));
  CHECK(assumed_codecs(profile, step) == std::vector<std::string>{"int4"});
}

}  // namespace casync
