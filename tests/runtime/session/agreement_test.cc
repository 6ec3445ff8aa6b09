// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/agreement.h"

#include <catch2/catch.hpp>

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

TEST_CASE("agreement: equal facts have no difference") {
  const Facts facts = {{"op", "average"}, {"gradient a", "float32 [3]"}};
  const std::vector<Facts> all(4, facts);
  CHECK(first_difference(all) == "");
  CHECK(first_difference(std::vector<Facts>(1, facts)) == "");
  CHECK(first_difference(std::vector<Facts>(3)) == "");
}

TEST_CASE("agreement: the first difference names the fact, both ranks and both values") {
  const Facts one = {{"a", "1"}, {"b", "2"}, {"c", "3"}};
  CHECK(first_difference(std::vector<Facts>{one, one, {{"a", "1"}, {"b", "9"}, {"c", "8"}}}) ==
        "b: rank 0 has 2, rank 2 has 9");
  CHECK(first_difference(std::vector<Facts>{one, {{"a", "1"}, {"b", "2"}}}) == "c: rank 0 has 3, rank 1 has nothing");
  CHECK(first_difference(std::vector<Facts>{{}, one}) == "a: rank 0 has nothing, rank 1 has 1");
  CHECK(first_difference(std::vector<Facts>{one, {{"a", "1"}, {"c", "3"}}}) == "b: rank 0 has 2, rank 1 has nothing");
}

TEST_CASE("agreement: decisions and codecs read as a person would write them") {
  Decision decision;
  decision.codec = {"int4", {{"block", 64}, {"feedback", 0}}};
  decision.second_hop = decision.codec;
  decision.partitions = 4;
  CHECK(text_of(decision) == "int4:block=64,feedback=0, ps, 4 partitions, priority 0");
  decision.second_hop = {"bf16", {}};
  CHECK(text_of(decision) == "int4:block=64,feedback=0 / bf16, ps, 4 partitions, priority 0");
  CHECK(text_of(CodecChoice{"topk", {{"ratio", 0.01}}}) == "topk:ratio=0.01");
}
