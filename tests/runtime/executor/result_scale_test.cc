// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/result_scale.h"

#include <catch2/catch.hpp>

using casync::runtime::ResultScale;

TEST_CASE("result scale: it is the session's, but where fewer ranks contribute to a mean") {
  ResultScale scale;
  CHECK(scale.scale_or(0.25f) == 0.25f);
  CHECK(scale.contributors() == 0);
  scale.count(2);
  CHECK(scale.contributors() == 2);
  CHECK(scale.scale_or(0.25f) == 0.5f);
  CHECK(scale.scale_or(1) == 1);  // of a sum
}

TEST_CASE("result scale: an average is one whatever the session does") {
  ResultScale scale;
  scale.count(2);
  scale.average(8);
  CHECK(scale.scale_or(0.25f) == 0.125f);
  CHECK(scale.scale_or(1) == 0.125f);
}
