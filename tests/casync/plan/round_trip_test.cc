// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <catch2/catch.hpp>

#include "casync/model/mode_text.h"
#include "casync/planner/plan_module/plan_io.h"
#include "tests/casync/plan/random_plans.h"

namespace casync {
namespace {

/// == takes 0 and -0 for the same number; a codec need not.
bool same(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

bool same(const std::optional<CodecChoice>& a, const std::optional<CodecChoice>& b) {
  if (a != b || !a) return a == b;
  for (std::size_t i = 0; i < a->parameters.size(); ++i) {
    if (!same(a->parameters[i].second, b->parameters[i].second)) return false;
  }
  return true;
}

bool same(const std::optional<WarmUpFrom>& a, const std::optional<WarmUpFrom>& b) {
  return a == b && (!a || same(a->value, b->value));
}

bool same(const Choice& a, const Choice& b) {
  return same(a.codec, b.codec) && same(a.second_hop, b.second_hop) && a.strategy == b.strategy &&
         a.partition_bytes == b.partition_bytes && a.partitions == b.partitions && a.priority == b.priority &&
         a.warm_up_steps == b.warm_up_steps && same(a.warm_up_from, b.warm_up_from) && a.servers == b.servers &&
         a.residual_memory == b.residual_memory && a.max_error == b.max_error &&
         std::equal(
             a.allowed.begin(), a.allowed.end(), b.allowed.begin(), b.allowed.end(),
             [](const CodecChoice& x, const CodecChoice& y) { return same(std::optional(x), std::optional(y)); });
}

bool same(const Plan& a, const Plan& b) {
  const auto rules = [](const Rule& x, const Rule& y) { return x.match == y.match && same(x.choice, y.choice); };
  const auto entries = [](const Entry& x, const Entry& y) { return x.name == y.name && same(x.choice, y.choice); };
  const auto groups = [](const GradientGroup& x, const GradientGroup& y) {
    return x.name == y.name && x.gradients == y.gradients && same(x.choice, y.choice);
  };
  return same(a.defaults, b.defaults) && a.world.ranks == b.world.ranks && a.world.nodes == b.world.nodes &&
         a.world.profile_digest == b.world.profile_digest && a.fusion_bytes == b.fusion_bytes &&
         a.coordinated == b.coordinated && a.credit_bytes == b.credit_bytes && a.seed == b.seed &&
         a.predicted == b.predicted && a.mode == b.mode &&
         std::equal(a.rules.begin(), a.rules.end(), b.rules.begin(), b.rules.end(), rules) &&
         std::equal(a.gradients.begin(), a.gradients.end(), b.gradients.begin(), b.gradients.end(), entries) &&
         std::equal(a.groups.begin(), a.groups.end(), b.groups.begin(), b.groups.end(), groups);
}

}  // namespace

TEST_CASE("plan: text written for any plan reads back to the same plan, numbers bit for bit") {
  const unsigned seed = GENERATE(range(0u, 500u));
  CAPTURE(seed);
  const Plan plan = RandomPlans(seed).next();
  const std::string text = plan_text(plan);
  CAPTURE(text);
  const Result<Plan> back = parse_plan(text, "p");
  REQUIRE(back.status().text() == "OK");
  CHECK(same(*back, plan));
}

TEST_CASE("plan: the text of any mode is a plan's") {
  const unsigned seed = GENERATE(range(0u, 500u));
  const SyncMode mode = RandomPlans(seed).next().mode;
  const std::string text = text_of(mode);
  CAPTURE(seed, text);
  CHECK(text.empty() == (mode == SyncMode{}));
  const Result<Plan> back = parse_plan("version: 1\n" + text, "p");
  REQUIRE(back.status().text() == "OK");
  CHECK(back->mode == mode);
}

TEST_CASE("plan: the text of local SGD is read back, and no other text is taken for one") {
  const unsigned seed = GENERATE(range(0u, 500u));
  const SyncMode mode = RandomPlans(seed).next().mode;
  CAPTURE(seed, text_of(mode));
  const std::optional<SyncMode> back = local_sgd_from(text_of(mode));
  CHECK(back.has_value() == (mode.is_local() && !mode.is_gossip()));
  if (back) CHECK(*back == mode);
}

TEST_CASE("plan: a text that local SGD never has is no local SGD") {
  CHECK(local_sgd_from("local_sgd { every: 1000000000 from_step: 1000000000 }")->every == 1'000'000'000);
  for (const char* text :
       {"", "local_sgd", "local_sgd { }", "local_sgd { every: 0 }", "local_sgd { every: 04 }", "local_sgd { every: 4",
        "local_sgd { every: 4 } ", "local_sgd { every: -4 }", "local_sgd { every: 4 from_step: 0 }",
        "local_sgd { every: 1000000001 }", "local_sgd { every: 4294967300 }", "local_sgd { from_step: 4 }",
        "local_sgd { every: 4 from_step: 1000000001 }", "gossip { neighbours: ring every: 4 }", "staleness: 4"}) {
    CAPTURE(text);
    CHECK(!local_sgd_from(text));
  }
}

TEST_CASE("plan: the comparison above notices a single changed field") {
  Plan plan;
  plan.defaults.codec = CodecChoice{"int8", {{"block", 0.0}}};
  Plan other = plan;
  other.defaults.codec->parameters[0].second = -0.0;
  CHECK(same(plan, plan));
  CHECK(!same(plan, other));
  other = plan;
  other.defaults.max_error = 0;
  CHECK(!same(plan, other));
  other = plan;
  other.defaults.servers = Servers{2, true};
  CHECK(!same(plan, other));
  other = plan;
  other.defaults.residual_memory = ResidualMemory::kTwoBuffers;
  CHECK(!same(plan, other));
  other = plan;
  other.defaults.warm_up_from = WarmUpFrom{"ratio", 0.0};
  CHECK(!same(plan, other));
  plan = other;
  other.defaults.warm_up_from->value = -0.0;
  CHECK(!same(plan, other));
  other = plan;
  other.rules = {{"a", {}}};
  plan.rules = {{"a", {}}};
  other.rules[0].choice.allowed = {{"int8", {}}};
  CHECK(!same(plan, other));
}

}  // namespace casync
