// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <iterator>

#include <catch2/catch.hpp>

#include "runtime/transport/transport.h"
#include "tests/environment/scoped_variable.h"

namespace casync::test {
namespace {

using runtime::make_transport;

}  // namespace

TEST_CASE("transports: an unknown name lists those there are") {
  const auto transport = make_transport("carrier-pigeon", {});
  REQUIRE_FALSE(transport.is_ok());
  CHECK(transport.status().code() == StatusCode::kInvalidArgument);
  CHECK_THAT(transport.status().message(),
             Catch::Contains("carrier-pigeon") && Catch::Contains("ucx:tcp") && Catch::Contains("loopback"));
}

TEST_CASE("transports: texts with their names have all of the table") {
  const std::string error = make_transport("carrier-pigeon", {}).status().message(), help = runtime::transport_names();
  CHECK_THAT(help, Catch::StartsWith("ucx, ") && Catch::Contains(" or "));
  for (const runtime::NamedTransport& transport : runtime::transports()) {
    const std::string name(transport.name);
    CHECK_THAT(error, Catch::Contains(name));
    CHECK((help.find(name) != std::string::npos) == transport.joins_processes);
  }
}

TEST_CASE("transports: those of threads are refused where processes meet, by the names of the others") {
  for (const runtime::NamedTransport& transport : runtime::transports()) {
    CAPTURE(transport.name);
    CHECK(runtime::check_joins_processes(transport.name).is_ok() == transport.joins_processes);
  }
  CHECK_THAT(runtime::check_joins_processes("loopback").text(),
             Catch::Contains("loopback joins threads of one process") && Catch::Contains(runtime::transport_names()));
}

TEST_CASE("transports: the page has a row for each") {
  std::ifstream file(CASYNC_DOCS "/transports.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const runtime::NamedTransport& transport : runtime::transports()) {
    CHECK_THAT(page, Catch::Contains("\n| `" + std::string(transport.name) + "` |"));
  }
}

TEST_CASE("transports: CASYNC_LINK paces any of them and a mistake in it is refused") {
  {
    const ScopedVariable link("CASYNC_LINK", "1gbit,1ms");
    const auto transport = make_transport("loopback", {.ranks = 2, .epoch = 1});
    REQUIRE(transport.is_ok());
    CHECK_THAT((*transport)->description(), Catch::EndsWith("link=1gbit,1ms"));
  }
  const ScopedVariable link("CASYNC_LINK", "fast");
  CHECK(make_transport("loopback", {}).status().code() == StatusCode::kInvalidArgument);
}

TEST_CASE("transports: CASYNC_CHECKSUM must be a flag") {
  const ScopedVariable flag("CASYNC_CHECKSUM", "perhaps");
  CHECK(make_transport("loopback", {}).status().code() == StatusCode::kInvalidArgument);
}

}  // namespace casync::test
