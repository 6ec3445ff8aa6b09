// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/sum_of_rank.h"

#include <catch2/catch.hpp>

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

SumOfRank make() {
  SumOfRank sum;
  sum.lie_at({64, 4}, {128, 4}, {192, 4});
  return sum;
}

}  // namespace

TEST_CASE("sum of a rank: a contribution fills it, a finite answer empties it and leaves the next residual") {
  SumOfRank sum = make();
  CHECK(sum.is_empty());
  sum.took(true, false);
  CHECK_FALSE(sum.is_empty());
  sum.answered(true);
  CHECK(sum.is_empty());
  CHECK(sum.residual().address() == 192);
  CHECK(sum.next_residual().address() == 128);
  CHECK(sum.memory().address() == 64);
  sum.took(true, false);
  sum.answered(false);  // its code was not finite: what is kept stays
  CHECK(sum.is_empty());
  CHECK(sum.residual().address() == 192);
}

TEST_CASE("sum of a rank: after a contribution that was left out an answer says so, and the sum stays for the next") {
  SumOfRank sum = make();
  sum.took(false, true);
  CHECK_FALSE(sum.is_whole());
  CHECK(sum.is_empty());
  sum.answered(false);
  CHECK(sum.is_whole());
  CHECK_FALSE(sum.is_empty());  // the answer has filled it with zeros
  CHECK(sum.residual().address() == 128);
  sum.took(false, true);
  sum.begin(true);
  CHECK(sum.is_whole());
  CHECK(sum.is_empty());
}

TEST_CASE("sum of a rank: one that needs none stays empty") {
  SumOfRank sum = make();
  CHECK(sum.is_needed());
  sum.end();
  sum.took(true, false);
  CHECK_FALSE(sum.is_needed());
  CHECK(sum.is_empty());
}
