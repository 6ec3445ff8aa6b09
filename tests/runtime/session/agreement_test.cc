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
