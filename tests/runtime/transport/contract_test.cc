// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "runtime/transport/transport.h"
#include "tests/conformance/transport_conformance.h"

namespace casync::test {

TEST_CASE("ucx:tcp: the transport contract") { check_transport_in_processes("ucx:tcp"); }

TEST_CASE("ucx:shm: the transport contract") { check_transport_in_processes("ucx:shm"); }

TEST_CASE("one rank of a scenario", "[.rank]") {
  const std::vector<std::string> failures = run_scenario_in_this_process();
  CHECK(failures == std::vector<std::string>{});
}

}  // namespace casync::test
