// SPDX-License-Identifier: Apache-2.0
#include "base/processors.h"

#include <sched.h>

#include <catch2/catch.hpp>

namespace casync {

TEST_CASE("processors: a thread may run on those that it is bound to") {
  const std::vector<int> before = usable_processors();
  REQUIRE_FALSE(before.empty());
  cpu_set_t old, one;
  REQUIRE(sched_getaffinity(0, sizeof old, &old) == 0);
  CPU_ZERO(&one);
  CPU_SET(before.back(), &one);
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(usable_processors() == std::vector<int>{before.back()});
  REQUIRE(sched_setaffinity(0, sizeof old, &old) == 0);
  CHECK(usable_processors() == before);
}

TEST_CASE("processors: their text is a list of numbers") {
  CHECK(text_of({0, 1, 11}) == "0,1,11");
  CHECK(text_of({}).empty());
}

TEST_CASE("processors: as many ranks compete for each as there are more ranks than processors") {
  CHECK(ranks_per_processor(1, 8) == 1);
  CHECK(ranks_per_processor(8, 8) == 1);
  CHECK(ranks_per_processor(2, 1) == 2);
  CHECK(ranks_per_processor(3, 2) == 1.5);
  CHECK(ranks_per_processor(3, 0) == 1);  // the system does not say
}

}  // namespace casync
