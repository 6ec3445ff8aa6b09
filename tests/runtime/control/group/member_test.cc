// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/member.h"

#include <sys/socket.h>

#include <array>
#include <catch2/catch.hpp>
#include <thread>

using namespace casync;
using namespace casync::runtime;
using Catch::Matchers::Contains;

namespace {

Clock::duration of(double seconds) { return std::chrono::duration_cast<Clock::duration>(Seconds(seconds)); }

struct Events final : RoleEvents {
  void joined(std::vector<Identity>) override {}
  void failed(const Status& cause) override { failure = cause; }
  void gathered(Result<std::vector<BlobRef>>) override {}
  void agreed(const Agreement&) override {}
  void needed(const std::string&, std::uint32_t) override {}
  void left(Rank, const LastWords&) override {}
  void alone() override {}
  Status failure;
};

/// A member whose hub is this test. Times are given, so nothing waits.
struct Pair {
  Pair() {
    REQUIRE(set.open().is_ok());
    std::array<int, 2> fds{};
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds.data()) == 0);
    Identity self, root;
    self.rank = 1;
    self.ranks = root.ranks = 2;
    hub.emplace(Fd(fds[0]), "up", "down", start);
    member.emplace(self, root, Pulse{Seconds(1), Seconds(5)}, Connection(Fd(fds[1]), "down", "up", start), "", events);
    member->attach(set);
  }
  /// Proposes `cause`, ends the hub without an answer, and returns the failure that the member reports.
  std::string end_without_answer(const Status& cause) {
    member->abort(cause);
    hub.reset();
    set.sleep(Clock::now() + of(5));
    set.run_handlers();
    return events.failure.text();
  }
  Clock::time_point start = Clock::now();
  Events events;
  PollSet set;
  std::optional<Connection> hub;
  std::optional<Member> member;
};

}  // namespace

TEST_CASE("member: a silent hub is named at its limit") {
  Pair pair;
  pair.member->tend(pair.start + of(4.99));
  CHECK(pair.events.failure.text() == "OK");
  pair.member->tend(pair.start + of(5));
  CHECK_THAT(pair.events.failure.text(), Contains("PeerFailure: rank 0") && Contains("no sign of life for 5.0 s"));
}

TEST_CASE("member: a beat that nobody has read is a sign of life") {
  Pair pair;
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  pair.hub->send(FrameType::kBeat, std::string());
  CHECK(pair.member->tend(pair.start + of(5)) <= pair.start + of(6));
  CHECK(pair.events.failure.text() == "OK");
}

TEST_CASE("member: a verdict that nobody has read counts, and not the silence") {
  Pair pair;
  pair.hub->send(FrameType::kAbort, encode_abort({1, peer_failure("rank 1: no sign of life for 5.0 s")}));
  pair.member->tend(pair.start + of(9));
  CHECK_THAT(pair.events.failure.text(), Contains("the other ranks gave this one up: rank 1"));
}

TEST_CASE("member: a hub that dies ahead of its answer explains why other peers are lost") {
  CHECK_THAT(Pair().end_without_answer(peer_failure("rank 2 (vm, pid 3): rank 2 has closed its transport")),
             Catch::StartsWith("PeerFailure: rank 0") && Contains("died: connection closed"));
}

TEST_CASE("member: what this rank itself says, and wrong data of a peer, stand although the hub has died") {
  for (const Status& cause : {peer_failure("rank 1 aborted the job: enough"), timeout_error("rank 1 (vm, pid 3): late"),
                              data_loss("rank 2 (vm, pid 3): a damaged payload")}) {
    CHECK(Pair().end_without_answer(cause) == cause.text());
  }
}
