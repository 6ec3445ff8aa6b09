// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/join_job.h"

#include <sched.h>

#include <catch2/catch.hpp>

#include "base/processors.h"

namespace casync::runtime {

TEST_CASE("join job: ranks have the same name for their processors if they are on one machine, and bound alike") {
  Launch first, second;
  second.rank = 1;
  first.ranks = second.ranks = 2;
  CHECK(processors_name(first) == processors_name(second));
  second.node = "another";  // by name only: the machine is the same
  CHECK(processors_name(first) == processors_name(second));

  const std::string unbound = processors_name(first);
  const std::vector<int> all = usable_processors();
  cpu_set_t before, one;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  CPU_ZERO(&one);
  CPU_SET(all.back(), &one);
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK((processors_name(first) == unbound) == (all.size() == 1));
  REQUIRE(sched_setaffinity(0, sizeof before, &before) == 0);
}

}  // namespace casync::runtime
