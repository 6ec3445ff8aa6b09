// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/coordinated_sends.h"

#include <catch2/catch.hpp>
#include <thread>

#include "runtime/executor/message_hops.h"
#include "tests/runtime/executor/waiting_sends.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

/// The sends of one rank of three.
struct CoordinatedSide {
  explicit CoordinatedSide(Rank self) : options{.rank = self, .ranks = 3} {}
  static Message word(std::uint32_t hop, Rank about, Bytes bytes = 0) {
    Message message;
    message.key = {.gradient = bytes, .step = 1, .partition = static_cast<std::uint32_t>(about), .hop = hop};
    return message;
  }
  /// The words since the last question.
  std::vector<MessageKey> words() {
    std::vector<MessageKey> all;
    for (const test::KeptMessages::Sent& one : waiting.transport.take()) {
      for (const Outgoing& out : one.outgoing) {
        if (out.cookie == kNoticeCookie) all.push_back(out.message.key);
      }
    }
    return all;
  }

  /// So many bytes for a peer have left.
  void left(Rank peer, Bytes bytes) {
    waiting.handover.sent(peer, bytes, Clock::now());
    sends.sent(peer);
  }
  /// Sends 100 bytes to rank 2 by leave; they have not left.
  void send_by_leave() {
    waiting.add(2, 100);
    REQUIRE_FALSE(sends.flush());
    sends.take(0, word(kGrantHop, 2));
    REQUIRE(sends.flush());
  }
  void check_that_leave_has_ended() {
    const std::vector<MessageKey> said = words();
    REQUIRE(said.size() == 1);
    CHECK(said[0].hop == kEndHop);
  }

  const ExecutorOptions options;
  test::WaitingSends waiting{3};
  CoordinatedSends sends{options, waiting.transport, waiting.sends, waiting.handover};
};

}  // namespace

TEST_CASE("coordinated sends: a rank says once what it has, sends all of it when it may, and tells when it has left") {
  CoordinatedSide side(1);
  side.waiting.add(2, 100);
  side.waiting.add(2, 50);
  CHECK_FALSE(side.sends.flush());
  std::vector<MessageKey> words = side.words();
  REQUIRE(words.size() == 1);
  CHECK(words[0].hop == kWantHop);
  CHECK(words[0].partition == 2);
  CHECK(words[0].gradient == 150);
  side.waiting.add(2, 25);  // joins them
  CHECK_FALSE(side.sends.flush());
  CHECK(side.waiting.transport.sent.empty());
  side.sends.take(0, CoordinatedSide::word(kGrantHop, 2));
  CHECK(side.sends.due() == Clock::time_point{});
  CHECK(side.sends.flush());
  CHECK(side.waiting.left() == std::vector<std::uint64_t>{0, 1, 2});
  for (const Bytes size : {100, 50, 25}) {
    CHECK(side.words().empty());
    side.left(2, size);
  }
  words = side.words();
  REQUIRE(words.size() == 1);
  CHECK(words[0].hop == kEndHop);
  CHECK(words[0].partition == 2);
  CHECK(side.sends.due() == Clock::time_point::max());
}

TEST_CASE("coordinated sends: a rank that hears nothing sends without leave, and a late one is ended at once") {
  CoordinatedSide side(1);
  side.waiting.add(2, 100);
  CHECK_FALSE(side.sends.flush());
  CHECK(side.words().size() == 1);
  const Clock::time_point due = side.sends.due();
  CHECK(due > Clock::time_point{});
  std::this_thread::sleep_until(due);
  CHECK(side.sends.flush());
  CHECK(side.waiting.left() == std::vector<std::uint64_t>{0});
  side.left(2, 100);
  CHECK(side.words().empty());
  side.sends.take(0, CoordinatedSide::word(kGrantHop, 2));
  CHECK_FALSE(side.sends.flush());
  side.check_that_leave_has_ended();
}

TEST_CASE("coordinated sends: sends that wait behind granted bytes go without leave, and their leave ends with all") {
  CoordinatedSide side(1);
  side.send_by_leave();
  CHECK(side.words().size() == 1);
  side.waiting.add(2, 50);  // rank 2 may need it to take the first one
  const Clock::time_point before = Clock::now();
  CHECK_FALSE(side.sends.flush());
  CHECK(side.words().empty());
  const Clock::time_point due = side.sends.due();
  CHECK(due > before);  // until then nothing can be done
  CHECK(due < before + std::chrono::seconds(10));
  std::this_thread::sleep_until(due);
  CHECK(side.sends.flush());
  CHECK(side.waiting.left() == std::vector<std::uint64_t>{1});
  CHECK(side.sends.due() == Clock::time_point::max());
  side.left(2, 50);
  CHECK(side.words().empty());
  side.left(2, 100);
  side.check_that_leave_has_ended();
}

TEST_CASE("coordinated sends: the coordinator is asked again once granted bytes have left") {
  CoordinatedSide side(1);
  side.send_by_leave();
  side.waiting.add(2, 50);
  side.words();
  side.left(2, 100);
  CHECK_FALSE(side.sends.flush());
  const std::vector<MessageKey> words = side.words();
  REQUIRE(words.size() == 2);
  CHECK(words[0].hop == kEndHop);
  CHECK(words[1].hop == kWantHop);
  CHECK(words[1].gradient == 50);
}

TEST_CASE("coordinated sends: a rank that has sent without leave asks no second time ahead of the answer") {
  CoordinatedSide side(1);
  side.waiting.add(2, 100);
  CHECK_FALSE(side.sends.flush());
  std::this_thread::sleep_until(side.sends.due());
  CHECK(side.sends.flush());
  CHECK(side.words().size() == 1);
  side.waiting.add(2, 50);
  const Clock::time_point before = Clock::now();
  CHECK_FALSE(side.sends.flush());
  CHECK(side.words().empty());
  CHECK(side.sends.due() > before);
  side.sends.take(0, CoordinatedSide::word(kGrantHop, 2));
  CHECK(side.sends.flush());
  CHECK(side.waiting.left() == std::vector<std::uint64_t>{1});
}

TEST_CASE("coordinated sends: rank 0 gives leave to one sender to a rank at a time, itself included") {
  CoordinatedSide side(0);
  side.sends.take(1, CoordinatedSide::word(kWantHop, 2, LinkCoordinator::kBulk));
  CHECK_FALSE(side.sends.flush());
  std::vector<MessageKey> words = side.words();
  REQUIRE(words.size() == 1);
  CHECK(words[0].hop == kGrantHop);
  CHECK(words[0].partition == 2);
  side.waiting.add(2, LinkCoordinator::kBulk);
  CHECK_FALSE(side.sends.flush());
  CHECK_FALSE(side.sends.flush());
  side.sends.take(1, CoordinatedSide::word(kEndHop, 2));
  CHECK(side.sends.flush());  // its own leave has come
  CHECK(side.waiting.left() == std::vector<std::uint64_t>{0});
}

TEST_CASE("coordinated sends: words from ranks that may not say them, or about none, are ignored") {
  CoordinatedSide side(1);
  side.waiting.add(2, 100);
  side.sends.flush();
  side.words();
  side.sends.take(2, CoordinatedSide::word(kGrantHop, 2));
  side.sends.take(2, CoordinatedSide::word(kGrantHop, 0));
  side.sends.take(0, CoordinatedSide::word(kGrantHop, 1));
  side.sends.take(0, CoordinatedSide::word(kGrantHop, 3));
  CHECK_FALSE(side.sends.flush());
  CHECK(side.waiting.transport.sent.empty());
}
