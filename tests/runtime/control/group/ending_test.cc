// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/ending.h"

#include <catch2/catch.hpp>

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

TEST_CASE("ending: it is due when all ranks know the cause, or when the wait is over, and reported once") {
  const Clock::time_point now = Clock::now();
  Ending ending(3);
  ending.told(1);
  CHECK_FALSE(ending.is_due(now));
  ending.begin({1, aborted("gone")}, now + std::chrono::seconds(2));
  CHECK(ending.has_begun());
  CHECK(ending.abort().cause.text() == "Aborted: gone");
  CHECK_FALSE(ending.is_due(now));
  CHECK(ending.report_at() == now + std::chrono::seconds(2));
  CHECK(ending.is_due(now + std::chrono::seconds(2)));
  for (const Rank outside : {-1, 0, 3}) ending.told(outside);
  CHECK_FALSE(ending.is_due(now));
  ending.told(2);
  CHECK(ending.is_due(now));
  ending.reported();
  CHECK_FALSE(ending.is_due(now + std::chrono::seconds(9)));
  CHECK(ending.report_at() == Clock::time_point::max());
}
