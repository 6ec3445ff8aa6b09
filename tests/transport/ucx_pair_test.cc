// SPDX-License-Identifier: Apache-2.0
//
// Two ranks over UCX in this thread: how many wire messages leave, and a client that throws.
#include <array>
#include <memory>
#include <new>
#include <vector>

#include <catch2/catch.hpp>

#include "runtime/transport/transport.h"

namespace casync::test {
namespace {

using namespace casync::runtime;  // NOLINT: every name here is from there

// Takes what comes; throws where it is told to.
struct Client : TransportClient {
  std::vector<std::byte> memory = std::vector<std::byte>(4_MiB);
  Bytes used = 0;
  std::size_t received_count = 0, sent_count = 0;
  bool throws_when_asked = false, throws_when_told = false;
  std::vector<Status> failures;

  Placement place(Rank, const Message& message) override {
    if (throws_when_asked) throw std::bad_alloc();
    const View view{memory.data() + used, message.payload_bytes};
    used += message.payload_bytes;
    return Placement::here(view);
  }
  void received(Rank, const Message&, Status status) override {
    received_count += status.is_ok();
    if (throws_when_told) throw std::bad_alloc();
  }
  void sent(std::uint64_t, Status) override { ++sent_count; }
  void failed(Rank, Status status) override { failures.push_back(std::move(status)); }
};

struct Pair {
  std::array<Client, 2> clients;
  std::array<std::unique_ptr<Transport>, 2> transports;
  std::vector<std::byte> payload = std::vector<std::byte>(4_MiB);

  Pair() {
    std::vector<std::string> addresses;
    for (Rank rank : {0, 1}) {
      auto opened = make_transport("ucx:tcp", {.rank = rank, .ranks = 2, .epoch = 0x7a12, .interface_name = "lo"});
      REQUIRE(opened.status().text() == "OK");
      transports[static_cast<std::size_t>(rank)] = std::move(*opened);
      addresses.push_back(transports[static_cast<std::size_t>(rank)]->address());
    }
    for (std::size_t i : {0u, 1u}) REQUIRE(transports[i]->connect(addresses, clients[i]).text() == "OK");
  }

  // From rank 0 to rank 1, in one call.
  void send(const std::vector<Bytes>& sizes) {
    std::vector<Outgoing> outgoing;
    for (Bytes size : sizes) {
      Outgoing& out = outgoing.emplace_back();
      out.message.key = {.gradient = 1, .partition = static_cast<std::uint32_t>(outgoing.size())};
      out.message.payload_bytes = size;
      out.payload = {payload.data(), size};
    }
    transports[0]->send(1, outgoing);
  }

  template <class Done>
  bool until(Done done) {
    const Clock::time_point deadline = after(Seconds(20));
    while (!done()) {
      if (Clock::now() >= deadline) return false;
      for (auto& transport : transports) transport->progress();
    }
    return true;
  }
};

}  // namespace

TEST_CASE("ucx: messages sent together leave in as few wire messages as they fit") {
  struct Row {
    std::vector<Bytes> sizes;
    std::uint64_t wire_messages;
  };
  const std::vector<Row> rows = {
      {std::vector<Bytes>(64, 1_KiB), 1},        // a full list of the executor's, headers and all
      {std::vector<Bytes>(65, 1_KiB), 2},        // one more
      {std::vector<Bytes>(200, 1_KiB), 4},       // not 200
      {{1_KiB, 1_KiB, 1_MiB, 1_KiB, 1_KiB}, 3},  // large ones travel alone, in their turn
      {{60_KiB, 60_KiB}, 2},
      {{10}, 1},
  };
  for (const Row& row : rows) {
    Pair pair;
    pair.send(row.sizes);
    INFO(row.sizes.size() << " messages, first of " << row.sizes[0]);
    CHECK(pair.until([&] {
      return pair.clients[1].received_count == row.sizes.size() && pair.clients[0].sent_count == row.sizes.size();
    }));
    CHECK(pair.transports[0]->stats().messages_sent == row.wire_messages);
    CHECK(pair.transports[1]->stats().messages_received == row.wire_messages);
    CHECK(pair.transports[0]->stats().payload_bytes_sent == pair.transports[1]->stats().payload_bytes_received);
  }
}

TEST_CASE("ucx: what the client throws fails the peer, and never passes through UCX") {
  const bool when_asked = GENERATE(true, false);
  const std::vector<Bytes> sizes =
      GENERATE(std::vector<Bytes>{100}, std::vector<Bytes>{1_MiB}, std::vector<Bytes>{9, 9});
  Pair pair;
  (when_asked ? pair.clients[1].throws_when_asked : pair.clients[1].throws_when_told) = true;
  pair.send(sizes);
  INFO((when_asked ? "place() throws, " : "received() throws, ") << sizes[0] << " bytes");
  REQUIRE(pair.until([&] { return !pair.clients[1].failures.empty(); }));
  CHECK(pair.clients[1].failures[0].text() == "Internal: serving rank 0 failed here: std::bad_alloc");
  pair.clients[1].throws_when_told = false;
  for (auto& transport : pair.transports) transport->close(Clock::now());
  CHECK(pair.clients[1].failures.size() == 1);
}

}  // namespace casync::test
