// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/wire/address.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

using namespace casync;
using namespace casync::runtime;
using Catch::Matchers::Contains;

TEST_CASE("address: the host of a text with a port comes without brackets, and an IPv6 address needs them") {
  const std::vector<std::tuple<const char*, const char*, int>> rows = {{"node7:29400", "node7", 29400},
                                                                       {"10.0.0.1:1", "10.0.0.1", 1},
                                                                       {"[::1]:65535", "::1", 65535},
                                                                       {"[fd00::7]:29400", "fd00::7", 29400},
                                                                       {"[fe80::1%eth0]:80", "fe80::1%eth0", 80}};
  for (const auto& [text, host, port] : rows) {
    INFO(text);
    const Result<HostPort> read = parse_host_port(text);
    REQUIRE(read.is_ok());
    CHECK(read->host == host);
    CHECK(read->port == port);
  }
  for (const char* text : {"fd00::7:29400", "[]:80", ":80", "node7", "node7:", "node7:65536", "node7:80a"}) {
    INFO(text);
    CHECK(parse_host_port(text).status().code() == StatusCode::kInvalidArgument);
  }
}

TEST_CASE("address: literals resolve without a deadline to wait for") {
  const auto found = resolve({"127.0.0.1", 80}, Clock::time_point::min());
  REQUIRE(found.is_ok());
  CHECK(found->front().text() == "127.0.0.1:80");
}

TEST_CASE("address: a resolver that does not answer is given up at the deadline") {
  static std::atomic<bool> release{false};
  const Resolver stuck = [](const HostPort&) -> Result<std::vector<SocketAddress>> {
    while (!release) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return std::vector<SocketAddress>();
  };
  const Status late = resolve_with(stuck, {"node7", 80}, after(Seconds(0.05))).status();
  CHECK(late.code() == StatusCode::kTimeout);
  CHECK_THAT(late.message(), Contains("\"node7\" was not resolved in time"));
  release = true;
}

TEST_CASE("address: the answer of a resolver that is in time is the answer") {
  const Resolver refusing = [](const HostPort& where) -> Result<std::vector<SocketAddress>> {
    return unavailable("no " + where.host);
  };
  CHECK(resolve_with(refusing, {"node7", 80}, after(Seconds(10))).status().text() == "Unavailable: no node7");
}
