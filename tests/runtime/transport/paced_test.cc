// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/paced.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "base/allocation_count.h"
#include "runtime/transport/frame.h"
#include "runtime/transport/loopback/factory.h"
#include "tests/conformance/transport_probe.h"
#include "tests/support/idle_transport.h"

namespace casync::test {
namespace {

using runtime::TransportOptions;

// Ranks in this thread over a paced loopback.
struct Ranks {
  Ranks(int count, const std::string& link_text) : rigs(static_cast<std::size_t>(count)) {
    const auto link = runtime::parse_link(link_text);
    REQUIRE(link.is_ok());
    for (Rank rank = 0; rank < count; ++rank) {
      TransportRig& rig = rigs[static_cast<std::size_t>(rank)];
      rig.rank = rank;
      rig.ranks = count;
      rig.open = [link](const TransportOptions& options) -> Result<std::unique_ptr<runtime::Transport>> {
        auto bare = runtime::make_loopback(options);
        if (!bare) return bare.status();
        return runtime::make_paced(std::move(*bare), *link, options.ranks);
      };
      rig.all_gather = [count](const std::string& address) {
        std::vector<std::string> all;
        for (Rank r = 0; r < count; ++r) all.push_back(address.substr(0, address.size() - 1) + std::to_string(r));
        return all;
      };
      probes.push_back(std::make_unique<TransportProbe>(rig));
    }
    begin = Clock::now();
  }
  // Seconds from ahead of the first message until `done`.
  double time_until(const std::function<bool()>& done) {
    while (!done() && Clock::now() - begin < std::chrono::seconds(20)) {
      for (auto& probe : probes) probe->transport().progress();
    }
    return Seconds(Clock::now() - begin).count();
  }
  std::vector<TransportRig> rigs;
  std::vector<std::unique_ptr<TransportProbe>> probes;
  Clock::time_point begin;
};

// A network in the hands of a test, which makes the calls of its client.
struct Network : IdleTransport {
  Status connect(std::span<const std::string>, runtime::TransportClient& of) override {
    client = &of;
    return Status::ok();
  }
  void send(Rank, std::span<const runtime::Outgoing> outgoing) override {
    for (const runtime::Outgoing& each : outgoing) cookies.push_back(each.cookie);
  }

  runtime::TransportClient* client = nullptr;
  std::vector<std::uint64_t> cookies;
};

// A client that takes all.
struct Counter : runtime::TransportClient {
  runtime::Placement place(Rank, const runtime::Message&) override { return runtime::Placement::here({}); }
  void received(Rank, const runtime::Message&, Status) override { ++received_count; }
  void sent(std::uint64_t, Status) override { ++sent_count; }
  void failed(Rank, Status) override {}

  std::size_t sent_count = 0, received_count = 0;
};

// 10 ms each at 80 Mbit/s.
constexpr Bytes kTenMilliseconds = 100'000 - runtime::kFrameHeaderBytes;

}  // namespace

TEST_CASE("paced: a message takes its time and the latency") {
  Ranks ranks(2, "80mbit,30ms");
  ranks.probes[0]->send(1, 0, kTenMilliseconds);
  const double left = ranks.time_until([&] { return ranks.probes[0]->all_sent(); });
  CHECK(left >= 0.0095);
  const double arrived = ranks.time_until([&] { return ranks.probes[1]->received_count() == 1; });
  CHECK(arrived >= 0.0395);
  CHECK(arrived < 10);
}

TEST_CASE("paced: messages leave one after the other") {
  Ranks ranks(3, "80mbit");
  ranks.probes[0]->send(1, 0, kTenMilliseconds);
  ranks.probes[0]->send(2, 0, kTenMilliseconds);
  ranks.probes[0]->send(1, 1, kTenMilliseconds);
  CHECK(ranks.time_until([&] { return ranks.probes[0]->all_sent(); }) >= 0.0295);
}

TEST_CASE("paced: messages of several peers to one rank arrive one after the other") {
  Ranks ranks(4, "80mbit");
  for (Rank from : {1, 2, 3}) ranks.probes[static_cast<std::size_t>(from)]->send(0, 0, kTenMilliseconds);
  CHECK(ranks.time_until([&] { return ranks.probes[0]->received_count() == 3; }) >= 0.0295);
}

TEST_CASE("paced: both directions go at once") {
  Ranks ranks(2, "80mbit");
  for (std::uint32_t i = 0; i < 10; ++i) {
    ranks.probes[0]->send(1, i, kTenMilliseconds);
    ranks.probes[1]->send(0, i, kTenMilliseconds);
  }
  const double both = ranks.time_until(
      [&] { return ranks.probes[0]->received_count() == 10 && ranks.probes[1]->received_count() == 10; });
  CHECK(both >= 0.0995);
  CHECK(ranks.probes[0]->transport().description() == "loopback link=80mbit");
}

TEST_CASE("paced: a message that has left or has a place is reported without more memory") {
  constexpr std::size_t kMessages = 50;
  Counter client;
  auto inner = std::make_unique<Network>();
  Network& network = *inner;
  const auto paced = runtime::make_paced(std::move(inner), *runtime::parse_link("1gbit"), 2);
  REQUIRE(paced->connect({}, client).is_ok());
  const runtime::Outgoing outgoing[2] = {};
  for (std::size_t i = 0; i < kMessages; i += 2) paced->send(1, outgoing);
  while (network.cookies.size() < kMessages) paced->progress();
  for (std::size_t i = 0; i < kMessages; ++i) network.client->place(1, {});
  const std::uint64_t before = allocations_of_this_thread();
  for (const std::uint64_t cookie : network.cookies) network.client->sent(cookie, Status::ok());
  for (std::size_t i = 0; i < kMessages; ++i) network.client->received(1, {}, Status::ok());
  CHECK(allocations_of_this_thread() == before);
  while (client.sent_count < kMessages || client.received_count < kMessages) paced->progress();
  CHECK(client.sent_count == kMessages);
  CHECK(client.received_count == kMessages);
  CHECK(paced->close(Clock::now()));
}

TEST_CASE("paced: what is sent to a peer that failed ends at once, whatever the link is busy with") {
  Counter client;
  auto inner = std::make_unique<Network>();
  Network& network = *inner;
  const auto paced = runtime::make_paced(std::move(inner), *runtime::parse_link("8bit"), 3);
  REQUIRE(paced->connect({}, client).is_ok());
  const runtime::Outgoing outgoing[1] = {};
  for (const Rank to : {1, 2, 1}) paced->send(to, outgoing);
  CHECK(network.cookies.size() == 1);  // the link is busy with its header for more than a minute
  network.client->failed(1, peer_failure("gone"));
  paced->progress();
  REQUIRE(network.cookies.size() == 2);
  paced->send(1, outgoing);
  REQUIRE(network.cookies.size() == 3);
  for (const std::uint64_t cookie : network.cookies) network.client->sent(cookie, peer_failure("gone"));
  paced->progress();
  CHECK(client.sent_count == 3);
  CHECK(network.cookies.size() == 3);  // rank 2's waits
  CHECK(paced->close(Clock::now()));
}

TEST_CASE("link: rates and latencies in their units") {
  struct Case {
    const char* text;
    double bits;
    double seconds;
  };
  for (const Case& c : {Case{"1gbit", 1e9, 0},
                        {"2.5gbit,1ms", 2.5e9, 1e-3},
                        {"100mbit,250us", 1e8, 250e-6},
                        {"64kbit", 64e3, 0},
                        {"9600bit,10ms", 9600, 0.01}}) {
    const auto link = runtime::parse_link(c.text);
    INFO(c.text);
    REQUIRE(link.is_ok());
    CHECK(link->bits_per_second == Approx(c.bits));
    CHECK(Seconds(link->latency).count() == Approx(c.seconds));
  }
  CHECK(Seconds(runtime::parse_link("1gbit")->time_of(125'000'000)).count() == Approx(1));
  // A link that is slower than any: the time of a large message is a time, and so is the sum of two.
  const Clock::duration longest = runtime::parse_link("1bit")->time_of(Bytes{1} << 50);
  CHECK(longest > std::chrono::hours(24));
  CHECK(Clock::now() + longest + longest > Clock::now() + longest);
}

TEST_CASE("link: anything else is refused with an example") {
  for (const char* text : {"", "1", "gbit", "1gbt", "-1gbit", "0gbit", "nangbit", "1gbit,", "1gbit,5", "1gbit,-1ms",
                           "1gbit,1ms,2ms", "1gbit,11000ms", "1 gbit", "infgbit"}) {
    const auto link = runtime::parse_link(text);
    INFO(text);
    REQUIRE_FALSE(link.is_ok());
    CHECK(link.status().code() == StatusCode::kInvalidArgument);
    CHECK_THAT(link.status().message(), Catch::Contains("1gbit,1ms"));
  }
}

}  // namespace casync::test
