// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/wire/address.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

using namespace casync;
using namespace casync::runtime;
using Catch::Matchers::Contains;

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
