// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/peers.h"

#include <new>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/runtime/transport/piece_header.h"

namespace casync::test {
namespace {

using namespace casync::runtime;  // NOLINT: every name here is from there

/// A client of rank 0 of three that writes down what it is told, and throws at one of the reports.
struct Told : PieceSource, TransportClient {
  Inbox inbox{0, 3, 9, *this};
  Peers peers{3, inbox};
  std::vector<std::byte> memory;  // of messages; none: they are put off
  std::vector<std::string> heard;
  int throws = 0;  // at the n-th report from here on

  Told() {
    inbox.set_client(*this);
    peers.set_client(*this);
  }
  Placement place(Rank, const Message&) override {
    return memory.empty() ? Placement::later() : Placement::here({memory.data(), memory.size()});
  }
  void received(Rank from, const Message&, Status) override { hear("received " + std::to_string(from)); }
  void sent(std::uint64_t cookie, Status) override { hear("sent " + std::to_string(cookie)); }
  void failed(Rank peer, Status) override { hear("failed " + std::to_string(peer)); }
  void take_held(HeldPiece, InboxRecord*, const FrameHeader&, View) override {}
  void drop_held(HeldPiece) override {}
  void refused(Rank, Status) override {}
  void hear(const std::string& what) {
    heard.push_back(what);
    if (throws > 0 && --throws == 0) throw std::bad_alloc();
  }
};

}  // namespace

TEST_CASE_METHOD(Told, "peers: a client that throws hears each report once, and the others the next time") {
  for (const std::uint64_t cookie : {1, 2, 3}) peers.sent_later(cookie, Status::ok());
  peers.fail_later(1, peer_failure("gone"));
  peers.fail_later(2, peer_failure("gone"));
  throws = 2;
  CHECK_THROWS_AS(peers.progress(), std::bad_alloc);
  CHECK(peers.has_news());
  throws = 2;
  CHECK_THROWS_AS(peers.progress(), std::bad_alloc);
  CHECK(peers.progress());
  CHECK(heard == std::vector<std::string>{"sent 1", "sent 2", "sent 3", "failed 1", "failed 2"});
  CHECK_FALSE(peers.has_news());
  CHECK_FALSE(peers.progress());
}

TEST_CASE_METHOD(Told, "peers: messages of a peer that failed end although the client throws when it is told") {
  const bool at_once = GENERATE(false, true);
  INFO((at_once ? "at once" : "with the next progress"));
  memory.resize(8192);
  FrameHeader half = piece_header(8192, 4096, 0);
  half.epoch = 9;
  const Inbox::Arrival arrival = inbox.arrive(half, nullptr);
  REQUIRE(arrival.answer == Inbox::Answer::kTake);
  inbox.finish(arrival.record, half, Status::ok());
  CHECK(heard.empty());
  throws = 1;
  if (at_once) {
    CHECK_THROWS_AS(peers.fail(1, peer_failure("gone")), std::bad_alloc);
  } else {
    peers.fail_later(1, peer_failure("gone"));
    CHECK_THROWS_AS(peers.progress(), std::bad_alloc);
  }
  CHECK(heard == std::vector<std::string>{"failed 1", "received 1"});
  CHECK(inbox.empty());
}

}  // namespace casync::test
