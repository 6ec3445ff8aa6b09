// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/comparisons.h"

#include <catch2/catch.hpp>

#include "runtime/executor/message_hops.h"
#include "tests/runtime/executor/one_rank.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

TEST_CASE("comparisons: the first one is not told, a later one once, and messages are put off until its end") {
  auto ranks = test::make_ranks(2, 720);
  Comparisons& own = ranks[0]->parts.comparisons;
  own.want(1, 0);
  CHECK(own.is_wanted());
  ranks[0]->take_requests();
  test::run_all(ranks);
  CHECK(ranks[1]->compared.empty());
  own.end();
  CHECK_FALSE(own.is_wanted());
  CHECK(own.count() == 1);

  ranks[1]->parts.comparisons.want(1, 0);
  ranks[1]->parts.comparisons.end();
  own.want(2, 7);
  own.want(2, 8);  // it is wanted already
  ranks[0]->take_requests();
  test::run_all(ranks);
  CHECK(ranks[1]->compared == std::vector<std::uint64_t>{2});
  own.want(3, 9);  // while that one is under way
  ranks[0]->take_requests();
  test::run_all(ranks);
  CHECK(ranks[1]->compared == std::vector<std::uint64_t>{2, 3});
  own.end();
  CHECK(own.is_wanted());
  own.end();
  CHECK_FALSE(own.is_wanted());
}

TEST_CASE("comparisons: a rank that needs more of a peer's former steps ends the job, until the comparison is over") {
  test::OneRank one(0, 2, 721);
  const std::string addresses[] = {"loopback 721 0", "loopback 721 1"};
  REQUIRE(one.transport->connect(addresses, one.parts.messages).is_ok());
  GradientRun& run = one.take_in();
  std::vector<float> values(100, 1);
  Comparisons& comparisons = one.parts.comparisons;
  Message notice;
  notice.key = {.gradient = 1, .step = 4, .hop = kNoticeHop};
  comparisons.take_notice(1, notice);
  CHECK(one.compared == std::vector<std::uint64_t>{1});
  one.begin(run, 3, values);  // the peer has completed step 3
  comparisons.check();
  CHECK(one.reported.empty());
  run.step.begin(4, run.step.data(), Clock::now());
  SECTION("not over") {
    comparisons.check();
    REQUIRE(one.reported.size() == 1);
    CHECK(one.reported[0] ==
          "InvalidArgument: rank 1 has loaded a state, and rank 0 waits for its part of a step: load a state on every "
          "rank, or on none");
  }
  SECTION("over") {
    comparisons.end();
    comparisons.check();
    comparisons.take_notice(1, notice);  // late
    CHECK(one.compared.size() == 1);
    CHECK(one.reported.empty());
  }
}
