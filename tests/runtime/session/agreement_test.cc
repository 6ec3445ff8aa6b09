// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/agreement.h"

#include <catch2/catch.hpp>

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

TEST_CASE("agreement: decisions and codecs read as a person would write them") {
  Decision decision;
  decision.codec = {"int4", {{"block", 64}, {"feedback", 0}}};
  decision.second_hop = decision.codec;
  decision.partitions = 4;
  CHECK(text_of(decision) == "int4:block=64,feedback=0, ps, 4 partitions, priority 0");
  decision.second_hop = {"bf16", {}};
  CHECK(text_of(decision) == "int4:block=64,feedback=0 / bf16, ps, 4 partitions, priority 0");
  decision.servers = {2, false};
  CHECK(text_of(decision) == "int4:block=64,feedback=0 / bf16, ps with 2 servers, 4 partitions, priority 0");
  decision.servers = {1, true};
  CHECK(text_of(decision) == "int4:block=64,feedback=0 / bf16, ps with 1 dedicated server, 4 partitions, priority 0");
  GradientSpec shards{"w", DType::kFloat32, {8}, 0};
  shards.scattered = true;
  CHECK(text_of(shards, {}) == "float32 [8], scattered, none, ps, 1 partitions, priority 0");
  CHECK(text_of(CodecChoice{"topk", {{"ratio", 0.01}}}) == "topk:ratio=0.01");
}

TEST_CASE(
    "agreement: the first difference of two plans is named, however many gradients, groups and codecs they name") {
  Plan one;
  one.defaults.partitions = 4;
  one.defaults.allowed = {CodecChoice{"int4", {}}, CodecChoice{"int8", {}}};
  for (const char* name : {"a", "b"}) one.gradients.push_back({name, {}});
  for (const char* name : {"g", "h"}) one.groups.push_back({name, {"c"}, {}});
  const auto difference = [&](const Plan& other) { return first_difference({0, facts_of(one)}, {1, facts_of(other)}); };
  CHECK(difference(one) == "");
  Plan other = one;
  other.gradients[1].name = "d";
  CHECK(difference(other) == "plan: gradient 2: rank 0 has b, rank 1 has d");
  other = one;
  other.groups[1].name = "i";
  CHECK(difference(other) == "plan: group 2: rank 0 has h, rank 1 has i");
  other = one;
  other.defaults.allowed[1].name = "fp16";
  CHECK(difference(other) == "plan: default allow: rank 0 has int4, int8, rank 1 has int4, fp16");
  other = one;
  other.defaults.strategy = StrategyKind::kPs;
  CHECK(difference(other) == "plan: default strategy: rank 0 has nothing, rank 1 has ps");
}

TEST_CASE("agreement: a heartbeat or a limit of silence that differs is named by its variable") {
  const auto difference = [](const Pulse& one, const Pulse& other) {
    return first_difference({0, facts_of(one)}, {1, facts_of(other)});
  };
  CHECK(difference({Seconds(0.5), Seconds(5)}, {}) == "");
  CHECK(difference({Seconds(0.5), Seconds(2)}, {Seconds(0.5), Seconds(60)}) ==
        "CASYNC_DEAD_SEC: rank 0 has 2, rank 1 has 60");
  CHECK(difference({Seconds(2), Seconds(5)}, {Seconds(0.25), Seconds(5)}) ==
        "CASYNC_HEARTBEAT_SEC: rank 0 has 2, rank 1 has 0.25");
}
