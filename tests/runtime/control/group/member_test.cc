// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/member.h"

#include <sys/socket.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/control/rendezvous/rendezvous.h"
#include "runtime/control/wire/socket.h"
#include "tests/runtime/control/group/ended_process.h"
#include "tests/runtime/control/group/no_events.h"

using namespace casync;
using namespace casync::runtime;
using Catch::Matchers::Contains;

namespace {

Clock::duration of(double seconds) { return std::chrono::duration_cast<Clock::duration>(Seconds(seconds)); }

struct Events final : casync::runtime::testing::NoEvents {
  void failed(const Status& cause) override { failure = cause; }
  void gathered(Result<std::vector<BlobRef>> blobs) override { answer = blobs.status(); }
  void alone(Rank rank) override { leaver = rank; }
  Status failure, answer;
  std::optional<Rank> leaver;
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

/// A member of a large job with a parent and a child, which both are this test.
struct Chain {
  Chain() {
    REQUIRE(set.open().is_ok());
    std::array<int, 2> fds{};
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds.data()) == 0);
    parent.emplace(Fd(fds[0]), "up", "down", Clock::now());
    member.emplace(rank(1), rank(3), Pulse(), Connection(Fd(fds[1]), "down", "up", Clock::now()), "", events);
    Result<Fd> listener = listen_on(resolve({"127.0.0.1", 0})->front());
    REQUIRE(listener.is_ok());
    GroupOptions way;
    way.rank = 2;
    way.ranks = 5;
    way.token = "the token of this job";
    way.address = local_address(listener->get()).text();
    std::vector<Fd> listeners;
    listeners.push_back(std::move(*listener));
    member->open_door(Door(std::move(listeners), rank(1), way.token, Seconds(5)), 7);
    member->attach(set);
    auto coming = std::async(std::launch::async, [&] { return find_hub(way, rank(2), after(Seconds(20))); });
    while (coming.wait_for(std::chrono::seconds(0)) != std::future_status::ready) run();
    Result<Entrance> entrance = coming.get();
    REQUIRE(entrance.status().text() == "OK");
    child.emplace(std::move(entrance->fd), entrance->key_in, entrance->key_out, Clock::now());
  }
  static Identity rank(Rank number) {
    Identity who;
    who.rank = number;
    who.ranks = 5;
    return who;
  }
  void run() {
    set.sleep(Clock::now() + of(0.01));
    set.run_handlers();
  }
  /// Lets the child read until it has so many frames, or its connection has ended.
  Status read(std::vector<Frame>* frames, std::size_t count) {
    Status status;
    for (int turn = 0; turn < 1000 && status && frames->size() < count; ++turn) {
      run();
      status = child->read(frames);
    }
    return status;
  }
  Events events;
  PollSet set;
  std::optional<Connection> parent, child;
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

TEST_CASE("member: a hub whose process has ended is heard to its last word, however many reads that takes") {
  casync::runtime::testing::EndedProcess hub_process("up", "down", [](Connection& hub) {
    for (int i = 0; i < 60; ++i) hub.send(FrameType::kBeat, std::string());
    hub.send(FrameType::kAbort, encode_abort({-1, aborted("rank 2 has had enough")}));
  });
  Events events;
  PollSet set;
  REQUIRE(set.open().is_ok());
  Member member(own_identity(1, 3), hub_process.as(0, 3), Pulse(),
                Connection(hub_process.take_end(), "down", "up", Clock::now()), "", events);
  member.attach(set);
  for (int turn = 0; turn < 100 && events.failure; ++turn) {
    set.sleep(after(Seconds(5)));
    set.run_handlers();
  }
  CHECK(events.failure.text() == "Aborted: rank 2 has had enough");
}

TEST_CASE("member: children of a rank that leaves hear its goodbye once, also if it waits for nobody") {
  const bool is_announced = GENERATE(false, true);
  CAPTURE(is_announced);
  Chain chain;
  std::vector<Frame> frames;
  chain.member->say_goodbye({"words", ""});
  if (is_announced) {
    chain.parent->send(FrameType::kGoodbye, encode_goodbye({{1}, "words"}));
    REQUIRE(chain.read(&frames, 1).is_ok());
  }
  chain.member->hang_up();
  CHECK(chain.read(&frames, 2).code() == StatusCode::kPeerFailure);
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].type == FrameType::kGoodbye);
  const auto goodbye = decode_goodbye(frames[0].payload->bytes, 5);
  REQUIRE(goodbye.is_ok());
  CHECK(goodbye->ranks == std::vector<Rank>{1});
  CHECK(goodbye->last_words == "words");
}

TEST_CASE("member: a rank whose parent has left tells its children, and goes on alone as they do") {
  Chain chain;
  std::vector<Frame> frames;
  chain.parent->send(FrameType::kGoodbye, encode_goodbye({{3}, ""}));
  REQUIRE(chain.read(&frames, 1).is_ok());
  chain.parent.reset();
  CHECK(chain.read(&frames, 3).code() == StatusCode::kPeerFailure);
  CHECK(chain.events.failure.text() == "OK");
  CHECK(chain.events.leaver == 3);
  REQUIRE(frames.size() == 2);
  REQUIRE(frames[1].type == FrameType::kAlone);

  Pair below;
  below.hub->send(FrameType::kAlone, frames[1].payload);
  below.hub.reset();
  below.set.sleep(Clock::now() + of(5));
  below.set.run_handlers();
  CHECK(below.events.failure.text() == "OK");
  CHECK(below.events.leaver == 3);
  below.member->gather({"weights", std::make_shared<const std::string>("own"), Clock::now()});
  CHECK_THAT(below.events.answer.text(), Catch::StartsWith("PeerFailure: rank 3 (") && Contains("\"weights\""));
}

TEST_CASE("member: a child that passes on what is no frame is named by its parent") {
  const FrameType type = GENERATE(FrameType::kUp, FrameType::kDown);
  Chain chain;
  chain.child->send(type, std::string("x"));
  std::vector<Frame> frames;
  for (int turn = 0; turn < 1000 && frames.size() < 2; ++turn) {
    chain.run();
    REQUIRE(chain.parent->read(&frames).is_ok());
  }
  REQUIRE(frames.size() == 2);
  CHECK(frames[0].type == FrameType::kHere);
  REQUIRE(frames[1].type == FrameType::kAbort);
  const auto abort = decode_abort(frames[1].payload->bytes);
  REQUIRE(abort.is_ok());
  CHECK(abort->culprit == 2);
  CHECK_THAT(abort->cause.text(), Catch::StartsWith("DataLoss: rank 2 ("));
}
