// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/seats.h"

#include <sys/socket.h>

#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/control/group/ended_process.h"

using namespace casync;
using namespace casync::runtime;

namespace {

constexpr Pulse kPulse{Seconds(1), Seconds(5)};

Clock::duration of(double seconds) { return std::chrono::duration_cast<Clock::duration>(Seconds(seconds)); }

/// Seats of three children, whose ends this test holds. Times are given, so nothing waits.
struct Family {
  Family() {
    REQUIRE(set.open().is_ok());
    seats.attach(set);
    for (Rank child : {1, 2, 3}) {
      std::array<int, 2> fds{};
      REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds.data()) == 0);
      Identity who;
      who.rank = child;
      seats.admit(who, Connection(Fd(fds[0]), "up", "down", start));
      ends.emplace_back(Fd(fds[1]), "down", "up", start);
    }
  }
  /// The frames that a child has received since it last looked.
  std::vector<Frame> received(Rank child) {
    std::vector<Frame> frames;
    REQUIRE(ends[static_cast<std::size_t>(child - 1)].read(&frames).is_ok());
    return frames;
  }
  /// Lets the seats read what has arrived.
  void read() {
    set.sleep(Clock::now());
    set.run_handlers();
  }

  Clock::time_point start = Clock::now();
  std::vector<Rank> silent, lost, spoke;
  PollSet set;
  std::vector<Connection> ends;
  Seats seats{Identity(),
              kPulse,
              {[this](Rank child, const Frame&) {
                 spoke.push_back(child);
                 return Status::ok();
               },
               [this](const Identity& who, const Status&) { lost.push_back(who.rank); },
               [this](const Identity& who, Clock::duration) { silent.push_back(who.rank); }}};
};

}  // namespace

TEST_CASE("seats: all children get a beat in the same round, and none until the next is due") {
  Family family;
  const auto next = family.seats.tend(family.start, true);
  CHECK(next == family.start + of(1));
  for (Rank child : {1, 2, 3}) {
    const auto frames = family.received(child);
    REQUIRE(frames.size() == 1);
    CHECK(frames[0].type == FrameType::kBeat);
  }
  family.seats.tend(family.start + of(0.9), true);
  for (Rank child : {1, 2, 3}) CHECK(family.received(child).empty());
  family.seats.tend(family.start + of(1), true);
  for (Rank child : {1, 2, 3}) CHECK(family.received(child).size() == 1);
}

TEST_CASE("seats: a silent child is reported once, at its limit, unless it has left or its silence is forgiven") {
  Family family;
  family.seats.leave(1);
  family.seats.tend(family.start + of(4.99), true);
  CHECK(family.silent.empty());
  CHECK(family.seats.tend(family.start + of(4.995), true) == family.start + of(5));
  SECTION("no word") {
    family.seats.tend(family.start + of(5), true);
    CHECK(family.silent == std::vector<Rank>{2, 3});
    family.seats.tend(family.start + of(9), true);
    CHECK(family.silent.size() == 2);
  }
  SECTION("a word of one") {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    family.ends[1].send(FrameType::kBeat, std::string());
    family.read();
    family.seats.tend(family.start + of(5), true);
    CHECK(family.silent == std::vector<Rank>{3});
  }
  SECTION("a word of one that nobody has read") {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    family.ends[1].send(FrameType::kBeat, std::string());
    family.seats.tend(family.start + of(5), true);
    CHECK(family.silent == std::vector<Rank>{3});
    CHECK(family.spoke == std::vector<Rank>{2});
  }
  SECTION("the last words of one that nobody has read") {
    family.ends.pop_back();
    family.seats.tend(family.start + of(5), true);
    CHECK(family.silent == std::vector<Rank>{2});
    CHECK(family.lost == std::vector<Rank>{3});
  }
  SECTION("nobody judges") {
    family.seats.tend(family.start + of(5), false);
    CHECK(family.silent.empty());
  }
}

TEST_CASE("seats: a child that ends is lost once, also with its last words, and one that has left is not") {
  Family family;
  family.seats.leave(1);
  family.ends[1].send(FrameType::kGather, std::string("words"));
  family.ends.clear();
  family.read();
  family.read();
  CHECK(family.lost == std::vector<Rank>{2, 3});
  CHECK(family.spoke == std::vector<Rank>{2});
  CHECK(family.seats.taken().empty());
}

TEST_CASE("seats: a process that has ended is heard to its last word, however many reads that takes") {
  constexpr int kWords = 60;
  casync::runtime::testing::EndedProcess child("down", "up", [](Connection& end) {
    for (int i = 0; i < kWords; ++i) end.send(FrameType::kGather, std::string("words"));
  });
  PollSet set;
  REQUIRE(set.open().is_ok());
  int heard = 0;
  std::vector<std::string> lost;
  Seats seats(own_identity(0, 2), kPulse,
              {[&](Rank, const Frame&) {
                 ++heard;
                 return Status::ok();
               },
               [&](const Identity&, const Status& why) { lost.push_back(why.text()); },
               {}});
  seats.attach(set);
  seats.admit(child.as(1, 2), Connection(child.take_end(), "up", "down", Clock::now()));
  for (int turn = 0; turn < 100 && lost.empty(); ++turn) {
    set.sleep(after(Seconds(5)));
    set.run_handlers();
  }
  CHECK(heard == kWords);
  CHECK(lost.size() == 1);
}

TEST_CASE("seats: children that close their ends once they are told that nothing more comes are not lost") {
  Family family;
  family.seats.hang_up();
  std::vector<Frame> frames;
  for (Connection& end : family.ends) CHECK(end.read(&frames).code() == StatusCode::kPeerFailure);
  family.ends.clear();
  family.read();
  CHECK(family.seats.empty());
  CHECK(family.lost.empty());
}

TEST_CASE("seats: children that are let go get all that waits for them, and then the end") {
  Family family;
  const std::string words(4_MiB, 'w');  // more than a socket takes
  family.seats.send_to(1, FrameType::kGathered, words);
  family.seats.let_go();
  CHECK(family.seats.taken() == std::vector<Rank>{1});
  family.seats.send_to_all(FrameType::kAbort, make_payload("after the end"));
  std::vector<Frame> frames;
  Status end;
  for (int i = 0; i < 10'000 && end; ++i) {
    end = family.ends[0].read(&frames);
    family.read();
  }
  CHECK_THAT(end.message(), Catch::Contains("closed"));
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].payload->bytes == words);
  CHECK(family.ends[1].read(&frames).code() == StatusCode::kPeerFailure);
  CHECK(family.seats.empty());
  CHECK(family.lost.empty());
}

TEST_CASE("seats: a rank below a child is reached through it, wrapped, and nobody else hears of it") {
  Family family;
  family.seats.learn_way(7, 2);
  family.seats.send_to(7, FrameType::kAsk, "name");
  family.seats.send_to(3, FrameType::kAsk, "name");
  family.seats.send_to(8, FrameType::kAsk, "name");
  CHECK(family.received(1).empty());
  const auto wrapped = family.received(2), direct = family.received(3);
  REQUIRE(wrapped.size() == 1);
  CHECK(wrapped[0].type == FrameType::kDown);
  REQUIRE(direct.size() == 1);
  CHECK(direct[0].type == FrameType::kAsk);
  CHECK(direct[0].payload->bytes == "name");
}
