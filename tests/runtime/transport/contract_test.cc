// SPDX-License-Identifier: Apache-2.0
//
// The contract of each transport of the table that this build has and most machines can open.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "runtime/transport/transport.h"
#include "tests/conformance/transport_conformance.h"

namespace casync::test {
namespace {

using runtime::NamedTransport;

std::vector<NamedTransport> opened_here(bool joins_processes) {
  std::vector<NamedTransport> found;
  for (const NamedTransport& each : runtime::transports()) {
    if (each.joins_processes != joins_processes || each.found == NamedTransport::Found::kWithHardware) continue;
    const Status status = runtime::make_transport(std::string(each.name), {.ranks = 2, .epoch = 1}).status();
    if (status.code() != StatusCode::kUnimplemented) found.push_back(each);
  }
  return found;
}

}  // namespace

TEST_CASE("transports of threads: the contract") {
  static const std::vector<NamedTransport> all = opened_here(false);
  for (const NamedTransport& each : all) {
    const std::string name(each.name);
    DYNAMIC_SECTION(name) {
      check_transport_in_threads(
          [&](const runtime::TransportOptions& options) { return runtime::make_transport(name, options); });
    }
  }
}

TEST_CASE("transports of processes: the contract") {
  static const std::vector<NamedTransport> all = opened_here(true);
  for (const NamedTransport& each : all) {
    DYNAMIC_SECTION(each.name) { check_transport_in_processes(std::string(each.name)); }
  }
}

TEST_CASE("one rank of a scenario", "[.rank]") {
  const std::vector<std::string> failures = run_scenario_in_this_process();
  CHECK(failures == std::vector<std::string>{});
}

}  // namespace casync::test
