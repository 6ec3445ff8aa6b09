// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/credit_sends.h"

#include <catch2/catch.hpp>

#include "runtime/executor/message_hops.h"
#include "tests/runtime/executor/waiting_sends.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

/// Rank 0 on a node with rank 1; ranks 2 and 3 are on another.
struct CreditSide {
  explicit CreditSide(Bytes bytes)
      : sends(bytes, Topology{4, {0, 0, 1, 1}}, 0, waiting.transport, waiting.sends, waiting.handover) {}

  test::WaitingSends waiting{4};
  CreditSends sends;
};

}  // namespace

TEST_CASE("credit sends: the most urgent of a port goes, whoever it is for, and the next waits for room") {
  CreditSide side(100);
  side.waiting.add(2, 60, 2);
  side.waiting.add(3, 60, 1);
  side.waiting.add(3, 10, 3);  // less urgent: it does not overtake
  CHECK(side.sends.flush(Clock::now()));
  CHECK(side.waiting.left() == std::vector<std::uint64_t>{1});
  CHECK_FALSE(side.sends.flush(Clock::now()));
  CHECK_FALSE(side.sends.credit().idle());
  side.sends.credit().arrived(3, {.gradient = 0, .step = 0, .partition = 1, .hop = 0});
  CHECK(side.sends.flush(Clock::now()));
  CHECK(side.waiting.left() == std::vector<std::uint64_t>{0, 2});
  CHECK(side.waiting.sends.listed().empty());
}

TEST_CASE("credit sends: each port has a credit of its own") {
  CreditSide side(100);
  side.waiting.add(2, 100);
  side.waiting.add(1, 100);
  CHECK(side.sends.flush(Clock::now()));
  CHECK(side.waiting.left().size() == 2);
}

TEST_CASE("credit sends: words for one peer travel together, each message's once") {
  CreditSide side(100);
  CHECK_FALSE(side.sends.send_words());
  for (std::uint32_t partition = 0; partition < 3; ++partition) {
    side.sends.credit().received(partition == 1 ? 3 : 2, {.gradient = 7, .step = 1, .partition = partition, .hop = 0});
  }
  CHECK(side.sends.send_words());
  const std::vector<test::KeptMessages::Sent> sent = side.waiting.transport.take();
  REQUIRE(sent.size() == 2);
  CHECK(sent[0].to == 2);
  REQUIRE(sent[0].outgoing.size() == 2);
  CHECK(sent[0].outgoing[0].message.key == MessageKey{7, 1, 0, kArrivedBit});
  CHECK(sent[0].outgoing[1].cookie == kNoticeCookie);
  CHECK(sent[1].to == 3);
  CHECK_FALSE(side.sends.send_words());
}
