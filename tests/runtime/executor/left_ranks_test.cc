// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/left_ranks.h"

#include <catch2/catch.hpp>

#include "tests/runtime/executor/one_rank.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

TEST_CASE("left ranks: a step under way ends the job where a rank that left has not completed it") {
  test::OneRank one(0, 2, 730);
  const std::string addresses[] = {"loopback 730 0", "loopback 730 1"};
  REQUIRE(one.transport->connect(addresses, one.parts.messages).is_ok());
  GradientRun &weight = one.take_in("weight"), &bias = one.take_in("bias");
  std::vector<float> values(100, 1);
  one.parts.left.check();
  one.begin(weight, 5, values);
  one.parts.left.add({1, 5, {weight.key}, peer_failure("rank 1 left the job")});
  one.parts.left.check();
  CHECK(one.reported.empty());
  SECTION("another gradient of its last step") {
    one.begin(bias, 5, values);
    one.parts.left.check();
    CHECK(one.reported ==
          std::vector<std::string>{"PeerFailure: rank 1 left the job; gradient bias, step 5, needs more of it"});
  }
  SECTION("an earlier step, and a later one") {
    one.begin(bias, 4, values);
    one.parts.left.check();
    CHECK(one.reported.empty());
    weight.step.begin(6, weight.step.data(), Clock::now());
    one.parts.left.check();
    CHECK(one.reported ==
          std::vector<std::string>{"PeerFailure: rank 1 left the job; gradient weight, step 6, needs more of it"});
  }
}
