// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "runtime/transport/transport.h"
#include "tests/environment/scoped_variable.h"

namespace casync::test {
namespace {

using runtime::make_transport;

// A client that nobody calls.
struct NoClient : runtime::TransportClient {
  runtime::Placement place(Rank, const runtime::Message&) override { return runtime::Placement::later(); }
  void received(Rank, const runtime::Message&, Status) override {}
  void sent(std::uint64_t, Status) override {}
  void failed(Rank, Status) override {}
};

}  // namespace

TEST_CASE("ucx: loading it leaves the program's signal handlers and environment alone") {
  const std::vector<int> signals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGHUP, SIGTERM, SIGINT, SIGPIPE};
  std::vector<decltype(sighandler_t())> before;
  const auto handler_of = [](int number) {
    struct sigaction action {};
    sigaction(number, nullptr, &action);
    return action.sa_handler;
  };
  const auto environment = [] {
    std::vector<std::string> variables;
    for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
    return variables;
  };
  for (int number : signals) before.push_back(handler_of(number));
  const std::vector<std::string> variables = environment();
  REQUIRE(make_transport("ucx:tcp", {.ranks = 2, .epoch = 1}).is_ok());
  for (std::size_t i = 0; i < signals.size(); ++i) {
    INFO("signal " << signals[i]);
    CHECK(handler_of(signals[i]) == before[i]);
  }
  CHECK(environment() == variables);
}

TEST_CASE("ucx: the description names networks, interface and buffers") {
  const auto transport = make_transport("ucx:tcp", {.ranks = 2, .epoch = 1, .interface_name = "lo"});
  REQUIRE(transport.is_ok());
  CHECK_THAT((*transport)->description(), Catch::StartsWith("ucx:tcp 1.") && Catch::Contains("TLS=self,tcp") &&
                                              Catch::Contains("NET_DEVICES=lo") && Catch::Contains("TCP_SNDBUF=4m") &&
                                              Catch::Contains("checksum=xxh3"));
}

TEST_CASE("ucx: the user's UCX_* variables stay") {
  const ScopedVariable buffer("UCX_TCP_SNDBUF", "2m");
  const auto transport = make_transport("ucx:tcp", {.ranks = 2, .epoch = 1});
  REQUIRE(transport.is_ok());
  CHECK_THAT((*transport)->description(), Catch::Contains("TCP_SNDBUF=2m") && Catch::Contains("TCP_RCVBUF=4m"));
}

TEST_CASE("ucx: payloads that ask their receiver first") {
  const auto announced = [](const char* name, const char* threshold) {
    const ScopedVariable set("UCX_RNDV_THRESH", threshold);
    const auto transport = make_transport(name, {.ranks = 2, .epoch = 1});
    REQUIRE(transport.is_ok());
    return (*transport)->announced_bytes(1);
  };
  CHECK(announced("ucx:tcp", nullptr) == 128_KiB);
  CHECK(announced("ucx:tcp", "300k") == 300_KiB);
  CHECK(announced("ucx:tcp", "inf") == 0);
  CHECK(announced("ucx:tcp", "auto") == 0);
  CHECK(announced("ucx:shm", nullptr) == 0);
}

TEST_CASE("ucx: an interface that is not there is refused with those that are") {
  const auto transport = make_transport("ucx:tcp", {.interface_name = "nosuch0"});
  REQUIRE_FALSE(transport.is_ok());
  CHECK(transport.status().code() == StatusCode::kInvalidArgument);
  CHECK_THAT(transport.status().message(), Catch::Contains("nosuch0") && Catch::Contains("lo"));
}

TEST_CASE("ucx: an unknown kind is refused") {
  CHECK(make_transport("ucx:smoke", {}).status().code() == StatusCode::kInvalidArgument);
}

TEST_CASE("ucx: an address that is not one of this transport never reaches UCX") {
  auto tcp = make_transport("ucx:tcp", {.rank = 0, .ranks = 2, .epoch = 1});
  auto shm = make_transport("ucx:shm", {.rank = 1, .ranks = 2, .epoch = 1});
  REQUIRE(tcp.is_ok());
  REQUIRE(shm.is_ok());
  NoClient client;
  const std::string own = (*tcp)->address();
  std::string damaged = own;
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  for (const std::string& wrong : {std::string(), std::string("rubbish"), (*shm)->address(), damaged, own + "x"}) {
    const Status status = (*tcp)->connect(std::vector<std::string>{own, wrong}, client);
    CHECK(status.code() == StatusCode::kInvalidArgument);
    CHECK_THAT(status.message(), Catch::Contains("rank 1"));
  }
}

}  // namespace casync::test
