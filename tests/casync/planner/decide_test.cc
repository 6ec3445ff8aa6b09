// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/decide.h"

#include <catch2/catch.hpp>

namespace casync::test {
namespace {

GradientSpec gradient(std::string name, std::int64_t elements = 100) {
  return {.name = std::move(name), .shape = {elements}, .priority = 7};
}

CodecChoice codec(std::string name) { return {std::move(name), {}}; }

double no_bits(const CodecChoice& choice) {
  FAIL("asked about " + choice.name);
  return 0;
}

Decision decided(const Plan& plan, const GradientSpec& spec, int ranks) { return decide(plan, spec, ranks, no_bits); }
Decision decided(const Plan& plan, const std::string& name) { return decided(plan, gradient(name), 4); }

// A plan of three strengths for "x": the defaults for all, a rule for x*, an entry for x itself.
Plan plan_of(Choice defaults, Choice rule, Choice entry) {
  Plan plan;
  plan.defaults = std::move(defaults);
  plan.rules = {{"x*", std::move(rule)}};
  plan.gradients = {{"x", std::move(entry)}};
  return plan;
}

// Checks the three sources' decision for `field`: one that only the weakest sets, one that the rule sets, too, and one
// that all set.
template <class T, class Field>
void check_strength(std::optional<T> Choice::*choice, Field decided_field, T weak, T middle, T strong) {
  const auto saying = [&](std::optional<T> value) {
    Choice made;
    made.*choice = std::move(value);
    return made;
  };
  const auto result = [&](const Plan& plan, const std::string& name) { return decided(plan, name).*decided_field; };
  CHECK(result(plan_of(saying(weak), {}, {}), "x") == weak);
  CHECK(result(plan_of(saying(weak), saying(middle), {}), "x") == middle);
  CHECK(result(plan_of(saying(weak), saying(middle), saying(strong)), "x") == strong);
  CHECK(result(plan_of(saying(weak), {}, saying(strong)), "x") == strong);
  CHECK(result(plan_of(saying(weak), saying(middle), saying(strong)), "xy") == middle);
  CHECK(result(plan_of(saying(weak), saying(middle), saying(strong)), "y") == weak);
}

}  // namespace

TEST_CASE("decide: an empty plan is codec none, strategy ps and the gradient's own priority") {
  CHECK(decided({}, "x") == Decision{.codec = codec("none"),
                                     .second_hop = codec("none"),
                                     .strategy = StrategyKind::kPs,
                                     .partitions = 1,
                                     .priority = 7});
}

TEST_CASE("decide: an entry is stronger than a rule, a rule than the defaults, for each field") {
  check_strength(&Choice::codec, &Decision::codec, codec("a"), codec("b"), codec("c"));
  check_strength(&Choice::second_hop, &Decision::second_hop, codec("a"), codec("b"), codec("c"));
  check_strength(&Choice::strategy, &Decision::strategy, StrategyKind::kRing, StrategyKind::kPs, StrategyKind::kRing);
  check_strength(&Choice::partitions, &Decision::partitions, 2, 3, 5);
  check_strength(&Choice::priority, &Decision::priority, 2, 3, 5);
  check_strength(&Choice::warm_up_steps, &Decision::warm_up_steps, 2u, 3u, 5u);
  using Memory = ResidualMemory;
  check_strength(&Choice::residual_memory, &Decision::residual_memory, Memory::kOneBuffer, Memory::kTwoBuffers,
                 Memory::kBFloat16);
}

TEST_CASE("decide: strength is per field") {
  const Plan plan = plan_of({.codec = codec("a"), .strategy = StrategyKind::kRing}, {.priority = 3}, {.partitions = 6});
  CHECK(decided(plan, "x") == Decision{codec("a"), codec("a"), StrategyKind::kRing, 6, 3});
}

TEST_CASE("decide: the first rule that matches is the only one") {
  Plan plan;
  plan.rules = {{"y", {.codec = codec("other")}},
                {"*", {.codec = codec("first")}},
                {"x", {.codec = codec("second"), .priority = 1}}};
  CHECK(decided(plan, "x").codec.name == "first");
  CHECK(decided(plan, "x").priority == 7);
}

TEST_CASE("decide: a codec without a second_hop is meant for both hops") {
  const Choice both{.codec = codec("coarse"), .second_hop = codec("fine")};
  CHECK(decided(plan_of({.codec = codec("a")}, {}, {}), "x").second_hop.name == "a");
  CHECK(decided(plan_of(both, {}, {}), "x").second_hop.name == "fine");
  CHECK(decided(plan_of(both, {.codec = codec("none")}, {}), "x").second_hop.name == "none");
  CHECK(decided(plan_of(both, {.second_hop = codec("b")}, {}), "x") ==
        Decision{.codec = codec("coarse"), .second_hop = codec("b"), .partitions = 1, .priority = 7});
}

TEST_CASE("decide: a parameter's warm-up is dropped with its codec") {
  const WarmUpFrom quarter{"ratio", 0.25}, half{"ratio", 0.5};
  const Choice topk{.codec = codec("topk"), .warm_up_from = quarter};
  const auto from = [](const Plan& plan) { return decided(plan, "x").warm_up_from; };
  CHECK_FALSE(from({}));
  CHECK(from(plan_of(topk, {}, {})) == quarter);
  CHECK(from(plan_of(topk, {.priority = 1}, {.partitions = 2})) == quarter);
  CHECK(from(plan_of(topk, {.warm_up_from = half}, {})) == half);
  CHECK_FALSE(from(plan_of(topk, {.codec = codec("b")}, {})));
  CHECK_FALSE(from(plan_of(topk, {.max_error = 0.1}, {})));
  CHECK(from(plan_of(topk, {.codec = codec("b"), .warm_up_from = half}, {.priority = 1})) == half);
}

TEST_CASE("decide: steps ahead of local SGD are warm-up steps") {
  Plan plan = plan_of({}, {.warm_up_steps = 5}, {});
  plan.mode = {.every = 8, .from_step = 100};
  CHECK(decided(plan, "x").warm_up_steps == 100);
  CHECK(decided(plan, "y").warm_up_steps == 100);
  plan.rules[0].choice.warm_up_steps = 500;
  CHECK(decided(plan, "x").warm_up_steps == 500);
}

TEST_CASE("decide: limits without a codec leave it to the planner, over codecs of weaker sources") {
  const Choice budget{.max_error = 0.1}, list{.allowed = {codec("a"), codec("b")}}, fixed{.codec = codec("c")};
  const auto limits = [](const Plan& plan) { return codec_limits(plan, "x"); };
  CHECK_FALSE(limits({}).is_open);
  CHECK_FALSE(limits({}).codec);
  CHECK(limits(plan_of(budget, {}, {})).is_open);
  CHECK(limits(plan_of(budget, {}, {})).by == "the default");
  const CodecLimits rule = limits(plan_of(fixed, budget, {}));
  CHECK(rule.is_open);
  CHECK(rule.max_error == 0.1);
  CHECK_FALSE(rule.codec);
  CHECK_FALSE(rule.second_hop);
  CHECK(rule.by == "rule 1 `x*`");
  CHECK(decided(plan_of(fixed, budget, {}), "x").codec.name == "none");
  const CodecLimits entry = limits(plan_of(budget, list, fixed));
  CHECK_FALSE(entry.is_open);
  CHECK(entry.codec == codec("c"));
  CHECK(entry.second_hop == codec("c"));
  CHECK_FALSE(entry.max_error);  // somebody weaker has set it
  CHECK(entry.allowed.empty());
  CHECK(entry.by == "its entry");
  CHECK(decided(plan_of(budget, list, fixed), "x").codec.name == "c");
}

TEST_CASE("decide: limits are those of the strongest that sets them, each alone") {
  const Choice budget{.max_error = 0.1}, finer{.max_error = 0.01}, list{.allowed = {codec("a"), codec("b")}};
  const CodecLimits both = codec_limits(plan_of(list, budget, {}), "x");
  CHECK(both.max_error == 0.1);
  CHECK(both.allowed.size() == 2);
  CHECK(codec_limits(plan_of(budget, {}, finer), "x").max_error == 0.01);
  const CodecLimits bound =
      codec_limits(plan_of({.codec = codec("c")}, {.codec = codec("d"), .max_error = 0.2}, {}), "x");
  CHECK_FALSE(bound.is_open);
  CHECK(bound.max_error == 0.2);  // that of the source that fixes the codec
}

TEST_CASE("decide: a gradient whose codec nobody has chosen is refused, with who left it open and what to do") {
  CHECK(check_decided({}, "x").is_ok());
  CHECK(check_decided(plan_of({.max_error = 0.1}, {}, {.codec = codec("c")}), "x").is_ok());
  CHECK(check_decided(plan_of({.max_error = 0.1}, {}, {.codec = codec("c")}), "y").text() ==
        "PlanError: its codec is left to the planner (max_error in the default, and no codec): `casync plan --plan "
        "FILE` chooses one, or name it");
  CHECK_THAT(check_decided(plan_of({}, {.allowed = {codec("a")}}, {}), "xx").text(),
             Catch::Contains("allow in rule 1 `x*`"));
}

TEST_CASE("decide: servers go to gradients of strategy ps, whichever source says which") {
  const auto servers_of = [](const Plan& plan) { return decided(plan, "x").servers; };
  const Servers two{2, false}, one{1, true};
  CHECK(servers_of({}) == Servers{});
  CHECK(servers_of(plan_of({.servers = two}, {}, {})) == two);
  CHECK(servers_of(plan_of({.servers = two}, {.servers = one}, {})) == one);
  CHECK(servers_of(plan_of({.servers = one}, {.servers = two}, {})) == two);  // dedicated belongs to the number
  CHECK(servers_of(plan_of({.servers = two}, {.strategy = StrategyKind::kRing}, {})) == Servers{});
  CHECK(servers_of(plan_of({.servers = two}, {.strategy = StrategyKind::kPs}, {})) == two);
  CHECK(servers_of(plan_of({.strategy = StrategyKind::kRing}, {.servers = one}, {.strategy = StrategyKind::kPs})) ==
        one);
  CHECK(said_fields(plan_of({.servers = two}, {}, {}), "x").servers);
  CHECK_FALSE(said_fields(plan_of({}, {}, {}), "x").servers);
}

TEST_CASE("decide: partitions that follow from a size are a multiple of the servers") {
  const GradientSpec x = gradient("x", 4 << 20);
  const Choice bytes{.partition_bytes = 1_MiB};
  const auto partitions = [&](int servers) {
    Choice choice = bytes;
    if (servers > 0) choice.servers = Servers{servers, false};
    return decided(plan_of(choice, {}, {}), x, 12).partitions;
  };
  CHECK(partitions(0) == 24);
  CHECK(partitions(1) == 16);
  CHECK(partitions(3) == 18);
  CHECK(partitions(5) == 20);
  CHECK(decided(plan_of({.servers = Servers{3, false}}, {}, {}), gradient("x", 1 << 10), 12).partitions == 1);
}

TEST_CASE("decide: a codec keeps the parameters it was named with") {
  const CodecChoice topk{"topk", {{"ratio", 0.01}}};
  CHECK(decided(plan_of({.codec = codec("topk")}, {.codec = topk}, {}), "x").codec == topk);
}

TEST_CASE("decide: a number of partitions is stronger than partition_bytes of the same source, not of a stronger") {
  const GradientSpec x = gradient("x", 1 << 20);
  const Choice count{.partitions = 3}, bytes{.partition_bytes = 512_KiB},
      both{.partition_bytes = 512_KiB, .partitions = 5};
  CHECK(decided(plan_of(both, {}, {}), x, 4).partitions == 5);
  CHECK(decided(plan_of(bytes, count, {}), x, 4).partitions == 3);
  CHECK(decided(plan_of(count, bytes, {}), x, 4).partitions == 8);
  CHECK(decided(plan_of({.partitions = -3}, {}, {}), x, 4).partitions == 1);
}

TEST_CASE("choose_partitions: small gradients have one, then as many as are worth owning, then multiples of ranks") {
  CHECK(choose_partitions(0, 4, 1_MiB) == 1);
  CHECK(choose_partitions(127_KiB, 4, 1_MiB) == 1);
  CHECK(choose_partitions(128_KiB, 4, 1_MiB) == 2);
  CHECK(choose_partitions(255_KiB, 4, 1_MiB) == 3);
  CHECK(choose_partitions(256_KiB, 4, 1_MiB) == 4);
  CHECK(choose_partitions(4_MiB, 4, 1_MiB) == 4);
  CHECK(choose_partitions(4_MiB + 1, 4, 1_MiB) == 8);
  CHECK(choose_partitions(100_MiB, 3, 1_MiB) == 102);
  CHECK(choose_partitions(5_MiB, 1, 1_MiB) == 5);
  CHECK(choose_partitions(1_MiB, 4, 100_MiB) == 4);
}

TEST_CASE("choose_partitions: a large group has larger partitions, so that messages stay few") {
  CHECK(choose_partitions(1_MiB, 256, 4_MiB) == 16);
  CHECK(choose_partitions(1_MiB, 1024, 4_MiB) == 4);
  // The matrices of BERT-large, on 1,024 ranks: a rank sends about two messages for each partition.
  std::size_t partitions = 0;
  for (int layer = 0; layer < 24; ++layer) {
    for (const Bytes elements : {1024u * 1024, 1024u * 1024, 1024u * 1024, 1024u * 1024, 4096u * 1024, 4096u * 1024}) {
      partitions += static_cast<std::size_t>(choose_partitions(4 * elements, 1024, 4_MiB));
    }
  }
  partitions += static_cast<std::size_t>(choose_partitions(Bytes{4} * 30522 * 1024, 1024, 4_MiB));
  CHECK(2 * partitions <= 11'000);
}

TEST_CASE("choose_partitions: partition_bytes below what is worth owning is taken at its word") {
  CHECK(choose_partitions(4_KiB, 4, 1_KiB) == 4);
  CHECK(choose_partitions(2_KiB, 4, 1_KiB) == 2);
}

TEST_CASE("choose_partitions: for any sizes a multiple of ranks or fewer, and never more than the most") {
  for (int ranks = 1; ranks <= 16; ++ranks) {
    for (Bytes bytes = 1; bytes < Bytes{1} << 44; bytes = bytes * 5 / 3 + 7) {
      for (Bytes partition_bytes : {Bytes{0}, Bytes{1}, 64_KiB, 1_MiB, 1000_MiB}) {
        const int count = choose_partitions(bytes, ranks, partition_bytes);
        CAPTURE(ranks, bytes, partition_bytes, count);
        REQUIRE(count >= 1);
        REQUIRE(count <= kMostPartitions);
        REQUIRE((count < ranks || count % ranks == 0));
      }
    }
  }
}

}  // namespace casync::test
