// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/ended_ranks.h"

#include <catch2/catch.hpp>

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

TEST_CASE("ended ranks: each ends once, and takes no part in the steps from there on") {
  EndedRanks ended(3);
  CHECK(ended.others() == "ranks 0, 1, 2 have");
  CHECK_FALSE(ended.first_without(100));
  CHECK(ended.end(1, 4));
  CHECK_FALSE(ended.end(1, 9));
  CHECK(ended.has_ended(1));
  CHECK_FALSE(ended.first_without(3));
  CHECK(ended.first_without(4) == 1);
  CHECK(ended.end(0, 6));
  CHECK(ended.first_without(5) == 1);
  CHECK(ended.first_without(6) == 0);
  CHECK(ended.others() == "rank 2 has");
  CHECK_FALSE(ended.are_all());
  CHECK(ended.end(2, 0));
  CHECK(ended.are_all());
  CHECK(ended.first_without(0) == 2);
}

TEST_CASE("ended ranks: one that says the largest number of steps has ended all the same, and counts once") {
  EndedRanks ended(2);
  CHECK(ended.end(1, ~0u));
  CHECK(ended.has_ended(1));
  CHECK_FALSE(ended.end(1, ~0u));
  CHECK(ended.others() == "rank 0 has");
  CHECK_FALSE(ended.are_all());
  CHECK(ended.end(0, 4));
  CHECK(ended.are_all());
}
