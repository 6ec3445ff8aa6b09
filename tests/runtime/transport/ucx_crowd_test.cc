// SPDX-License-Identifier: Apache-2.0
//
// Three ranks over UCX in this thread: messages of two of them wait at rank 0, where there is too little room.
#include <array>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "runtime/transport/transport.h"
#include "tests/runtime/transport/connected.h"

namespace casync::test {
namespace {

using namespace casync::runtime;  // NOLINT: every name here is from there

constexpr Bytes kMessage = 10_KiB;
constexpr Bytes kRoom = 64_KiB;

// A client that takes all messages into the same memory, once it takes any.
struct CrowdClient : TransportClient {
  std::vector<std::byte> memory = std::vector<std::byte>(kMessage);
  bool puts_off = true;
  std::size_t asked = 0, received_count = 0, sent_count = 0;
  std::vector<Status> failures;

  Placement place(Rank, const Message& message) override {
    ++asked;
    return puts_off ? Placement::later() : Placement::here({memory.data(), message.payload_bytes});
  }
  void received(Rank, const Message&, Status status) override { received_count += status.is_ok(); }
  void sent(std::uint64_t, Status status) override { sent_count += status.is_ok(); }
  void failed(Rank, Status status) override { failures.push_back(std::move(status)); }
};

struct Ranks {
  std::array<CrowdClient, 3> clients;
  Transports<3> transports;
  const std::vector<std::byte> payload = std::vector<std::byte>(kMessage);
  std::uint32_t sent = 0;

  Ranks() {
    TransportOptions options{.epoch = 0x7a14};
    options.held_bytes = kRoom;
    transports = connected("ucx:tcp", options, clients);
  }

  template <class Done>
  bool until(Done done) {
    return progress_until(transports, done);
  }

  void send(std::size_t from, Rank to, std::uint32_t partition) {
    Outgoing out;
    out.message.key = {.gradient = 1, .partition = partition};
    out.message.payload_bytes = payload.size();
    out.payload = {payload.data(), payload.size()};
    transports[from]->send(to, {&out, 1});
  }
  // Sends messages to rank 0, each once rank 0 has been asked about the one ahead of it.
  void send_one_by_one(std::size_t from, int count) {
    for (int i = 0; i < count; ++i) {
      send(from, 0, sent++);
      REQUIRE(until([&] { return clients[0].asked == sent; }));
    }
  }
  Bytes held() const { return transports[0]->stats().held_bytes; }
};

}  // namespace

TEST_CASE("ucx: a peer whose first message comes when too much waits already lets its others wait at itself") {
  Ranks ranks;
  ranks.send(0, 2, 0);  // connects both, so that a notice comes at once
  REQUIRE(ranks.until([&] { return ranks.clients[2].asked == 1 && ranks.clients[0].sent_count == 1; }));
  ranks.send_one_by_one(1, 20);
  const Bytes crowd = ranks.held();
  CHECK(crowd > kRoom);
  ranks.send_one_by_one(2, 60);  // 600 KiB
  CHECK(ranks.held() > crowd);   // the first one
  CHECK(ranks.held() < crowd + 30 * kMessage);
  ranks.clients[0].puts_off = false;
  ranks.transports[0]->retry_held();
  CHECK(ranks.until([&] {
    return ranks.clients[0].received_count == 80 && ranks.clients[1].sent_count == 20 &&
           ranks.clients[2].sent_count == 60;
  }));
  CHECK(ranks.held() == 0);
  for (const CrowdClient& client : ranks.clients) CHECK(client.failures.empty());
}

}  // namespace casync::test
