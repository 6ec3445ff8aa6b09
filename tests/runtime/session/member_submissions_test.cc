// SPDX-License-Identifier: Apache-2.0
//
// The members of a group in steps, and in the calls that submit them.
#include "runtime/session/member_submissions.h"

#include <catch2/catch.hpp>

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

const GradientSpec kWeight{"weight", DType::kFloat32, {2}, 0};

}  // namespace

TEST_CASE("member submissions: a step has each member once, and so has a call, valid or not") {
  MemberSubmissions of(2);
  CHECK(of.check(0, kWeight, 0, 1).is_ok());
  CHECK(of.check(0, kWeight, 0, 1).text() == "InvalidArgument: gradient weight is twice in one submission");
  CHECK(of.check(0, kWeight, 0, 2).is_ok());
  of.add(0, 0);
  CHECK_THAT(of.check(0, kWeight, 0, 3).text(), Catch::Contains("gradient weight was submitted twice in step 0"));
  CHECK(of.check(1, kWeight, 0, 3).is_ok());
  CHECK(of.check(0, kWeight, 1, 3).is_ok());
}

TEST_CASE("member submissions: a step's number is with those that the call has") {
  MemberSubmissions of(3);
  CHECK(of.join(0, 1) == 1);
  of.add(0, 0);
  CHECK(of.join(0, 2) == 2);
  CHECK(of.join(0, 2) == 3);
  CHECK(of.join(0, 3) == 2);  // the last call was refused
  of.add(1, 0);
  CHECK(of.count_in(0) == 2);
  CHECK(of.count_in(1) == 0);
  CHECK(of.join(1, 4) == 1);
  of.add(1, 1);
  CHECK(of.count_in(1) == 1);
}

TEST_CASE("member submissions: one that is taken back may come again, and earlier ones are known") {
  MemberSubmissions of(2);
  of.add(0, 0);
  of.add(0, 1);
  of.add(1, 1);
  of.remove(0, 1);
  CHECK(of.count_in(1) == 1);
  CHECK(of.knows(0, 0));
  CHECK_FALSE(of.knows(0, 1));
  of.remove(0, 1);
  CHECK(of.count_in(1) == 1);
  CHECK(of.check(0, kWeight, 1, 7).is_ok());
  of.add(0, 1);
  CHECK(of.count_in(1) == 2);
}

TEST_CASE("member submissions: a member is known in a step from then on, and past it with a later one") {
  MemberSubmissions of(2);
  CHECK_FALSE(of.knows(0, 0));
  of.add(0, 1);
  CHECK(of.is_in(0, 1));
  CHECK_FALSE(of.is_in(0, 0));
  CHECK(of.knows(0, 0));
  CHECK(of.knows(0, 1));
  CHECK_FALSE(of.knows(0, 2));
  CHECK(of.is_past(0, 0));
  CHECK_FALSE(of.is_past(0, 1));
  CHECK_FALSE(of.knows(1, 0));
  of.forget();
  CHECK_FALSE(of.knows(0, 0));
  CHECK(of.count_in(1) == 0);
}
