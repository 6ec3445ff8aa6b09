// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/handover.h"

#include <catch2/catch.hpp>
#include <chrono>

#include "tests/runtime/executor/waiting_sends.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

constexpr Clock::time_point kStart{std::chrono::hours(1)};

}  // namespace

TEST_CASE("handover: the most urgent send goes, with the next ones that fit into one message") {
  test::WaitingSends waiting(2, 100);
  for (const Bytes size : {40, 50, 20, 10}) waiting.add(1, size);
  waiting.handover.hand_over(1, kStart);
  REQUIRE(waiting.transport.sent.size() == 1);
  CHECK(waiting.transport.sent[0].to == 1);
  CHECK(waiting.left() == std::vector<std::uint64_t>{0, 1});
  waiting.add(1, 5, -1);
  waiting.handover.hand_over(1, kStart);
  CHECK(waiting.left() == std::vector<std::uint64_t>{4, 2, 3});
  CHECK(waiting.sends.is_empty(1));
}

TEST_CASE("handover: without fusion each message goes alone, however small") {
  test::WaitingSends waiting(2);
  for (int i = 0; i < 2; ++i) waiting.add(1, 0);
  waiting.handover.hand_over(1, kStart);
  CHECK(waiting.left() == std::vector<std::uint64_t>{0});
}

TEST_CASE("handover: a link is idle again once everything was reported as sent") {
  test::WaitingSends waiting(3);
  waiting.add(1, 10);
  waiting.add(1, 20);
  CHECK(waiting.handover.is_idle(1));
  for (int i = 0; i < 2; ++i) waiting.handover.hand_over(1, kStart);
  waiting.handover.sent(1, 10, kStart);
  CHECK_FALSE(waiting.handover.is_idle(1));
  CHECK(waiting.handover.is_idle(2));
  waiting.handover.sent(1, 20, kStart);
  CHECK(waiting.handover.is_idle(1));
}

TEST_CASE("handover: messages over a link that has shown to be slow leave without asking") {
  test::WaitingSends waiting(3);
  Clock::time_point now = kStart;
  const auto carry = [&](Rank peer, std::chrono::milliseconds time) {
    waiting.add(peer, 1_MiB);
    waiting.handover.hand_over(peer, now);
    now += time;
    waiting.handover.sent(peer, 1_MiB, now);
    now += std::chrono::seconds(1);
    return waiting.transport.take().at(0).outgoing.at(0).unasked;
  };
  CHECK_FALSE(carry(1, std::chrono::milliseconds(10)));
  CHECK(carry(1, std::chrono::milliseconds(10)));
  CHECK_FALSE(carry(2, std::chrono::milliseconds(10)));  // another link
}

TEST_CASE("handover: when all peers together have much under way, a link that is not idle has no room") {
  constexpr int kPeers = 17;
  test::WaitingSends waiting(kPeers + 1);
  for (Rank peer = 1; peer < kPeers; ++peer) {
    waiting.add(peer, peer == 1 ? LinkPace::kWindow / 2 : LinkPace::kWindow);
    waiting.handover.hand_over(peer, kStart);
  }
  CHECK(waiting.handover.is_open(1, kStart));
  waiting.add(kPeers, LinkPace::kWindow);
  waiting.handover.hand_over(kPeers, kStart);
  CHECK_FALSE(waiting.handover.is_open(1, kStart));
  CHECK(waiting.handover.opens_at(1) > kStart);
  waiting.handover.sent(kPeers, LinkPace::kWindow, kStart);
  CHECK(waiting.handover.is_open(1, kStart));
}

TEST_CASE("handover: a credit gets to know of each message, with its bytes") {
  test::WaitingSends waiting(2, 100);
  LinkCredit credit(100, Topology::flat(2), 0);
  waiting.add(1, 30);
  waiting.add(1, 40);
  waiting.handover.hand_over(1, kStart, &credit);
  const std::size_t port = credit.port_of(1);
  CHECK(credit.admits(port, 30));
  CHECK_FALSE(credit.admits(port, 31));
  credit.arrived(1, {.gradient = 0, .step = 0, .partition = 1, .hop = 0});
  CHECK(credit.admits(port, 70));
}
