// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/descriptors.h"

#include <sys/resource.h>

#include <catch2/catch.hpp>

using namespace casync;
using namespace casync::runtime;
using Catch::Matchers::Contains;

namespace {

/// The limits of this process, put back at the end.
struct Limits {
  Limits() { getrlimit(RLIMIT_NOFILE, &saved); }
  ~Limits() { setrlimit(RLIMIT_NOFILE, &saved); }
  static rlim_t soft() {
    rlimit now = {};
    getrlimit(RLIMIT_NOFILE, &now);
    return now.rlim_cur;
  }
  void lower_soft(rlim_t to) const {
    const rlimit lower = {to, saved.rlim_max};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &lower) == 0);
  }
  rlimit saved = {};
};

}  // namespace

TEST_CASE("descriptors: the soft limit is raised as far as needed, and never lowered") {
  const Limits limits;
  limits.lower_soft(64);
  CHECK(reserve_descriptors({100, 200, "tests"}).is_ok());
  CHECK(Limits::soft() > 200);
  CHECK(Limits::soft() < 64 + 300);
  const rlim_t before = Limits::soft();
  CHECK(reserve_descriptors({1, 1, "tests"}).is_ok());
  CHECK(Limits::soft() == before);
}

TEST_CASE("descriptors: a hard limit that is too low is refused with the numbers and what to do") {
  const Status refused = reserve_descriptors({2000000000, 2000000000, "1999999999 data connections"});
  CHECK(refused.code() == StatusCode::kUnavailable);
  CHECK_THAT(refused.message(), Contains("2000000000 more are needed (1999999999 data connections)") &&
                                    Contains("hard limit is") && Contains("ulimit -Hn"));
}
