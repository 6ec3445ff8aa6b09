// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/round_members.h"

#include <catch2/catch.hpp>

#include "tests/runtime/executor/rounds_ranks.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

TEST_CASE("round members: a bucket is whole once all its gradients were submitted, in any order, step after step") {
  const test::RoundsRank rank(0, 2, {"none", "none", "none"});
  RoundMembers members(rank.runs);
  for (int step = 0; step < 2; ++step) {
    CHECK_FALSE(members.is_whole());
    CHECK(members.first_missing() == rank.runs[0]);
    members.take(*rank.runs[2]);
    members.take(*rank.runs[0]);
    CHECK_FALSE(members.is_whole());
    CHECK(members.first_missing() == rank.runs[1]);
    members.take(*rank.runs[1]);
    CHECK(members.is_whole());
    CHECK(members.first_missing() == nullptr);
    members.reset();
  }
  CHECK(members.runs() == rank.runs);
}
