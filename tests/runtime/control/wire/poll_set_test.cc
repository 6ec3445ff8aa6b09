// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/wire/poll_set.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>

using namespace casync;
using namespace casync::runtime;

namespace {

/// A pair of sockets: the near end is watched, the far one writes and reads.
struct Pair {
  Pair() {
    std::array<int, 2> fds{};
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds.data()) == 0);
    near = Fd(fds[0]);
    far = Fd(fds[1]);
  }
  void write_far() const { REQUIRE(write(far.get(), "x", 1) == 1); }
  Fd near, far;
};

PollSet open_set() {
  PollSet set;
  REQUIRE(set.open().is_ok());
  return set;
}

/// Returns how often handlers ran in one turn: `count` counts them.
int turn(PollSet& set, int& count) {
  count = 0;
  set.sleep(Clock::now());
  set.run_handlers();
  return count;
}

}  // namespace

TEST_CASE("poll set: a handler runs while its descriptor is readable, and not after its watch has ended") {
  PollSet set = open_set();
  const Pair pair;
  int count = 0;
  Watch watch = set.watch(pair.near.get(), [&] { ++count; });
  CHECK(turn(set, count) == 0);
  pair.write_far();
  CHECK(turn(set, count) == 1);
  CHECK(turn(set, count) == 1);  // nobody has read
  Watch moved = std::move(watch);
  CHECK(turn(set, count) == 1);
  moved.reset();
  CHECK(turn(set, count) == 0);
}

TEST_CASE("poll set: room for output wakes only who wants it") {
  PollSet set = open_set();
  const Pair pair;
  int count = 0;
  Watch watch = set.watch(pair.near.get(), [&] { ++count; });
  watch.want_output(true);
  CHECK(turn(set, count) == 1);
  watch.want_output(false);
  CHECK(turn(set, count) == 0);
}

TEST_CASE("poll set: a handler may end its own watch and those of others that are ready, and their descriptors") {
  PollSet set = open_set();
  std::array<Pair, 3> pairs;
  std::array<Watch, 3> watches;
  int count = 0;
  const std::string kept = "what a handler holds lives until it has returned";
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    watches[i] = set.watch(pairs[i].near.get(), [&, copy = kept] {
      for (std::size_t j = 0; j < pairs.size(); ++j) {
        watches[j].reset();
        pairs[j].near.reset();
      }
      count += copy == kept ? 1 : 100;
    });
    pairs[i].write_far();
  }
  CHECK(turn(set, count) == 1);
  CHECK(turn(set, count) == 0);
}

TEST_CASE("poll set: a descriptor's number that comes again belongs to its new watch alone") {
  PollSet set = open_set();
  const Pair first, second;
  int old_count = 0, count = 0;
  const int number = first.near.get();
  Watch old = set.watch(number, [&] { ++old_count; });
  first.write_far();
  set.sleep(Clock::now());  // ready, and not handled yet
  old.reset();
  REQUIRE(dup2(second.near.get(), number) == number);
  const Watch watch = set.watch(number, [&] { ++count; });
  set.run_handlers();
  CHECK(old_count + count == 0);
  second.write_far();
  CHECK(turn(set, count) == 1);
  CHECK(old_count == 0);
}

TEST_CASE("poll set: more descriptors than one sleep reports are all served") {
  constexpr std::size_t kPairs = 300;
  PollSet set = open_set();
  std::vector<Pair> pairs(kPairs);
  std::vector<Watch> watches;
  std::vector<int> served(kPairs, 0);
  for (std::size_t i = 0; i < kPairs; ++i) {
    watches.push_back(set.watch(pairs[i].near.get(), [&, i] {
      char byte = 0;
      served[i] += static_cast<int>(read(pairs[i].near.get(), &byte, 1));
    }));
    pairs[i].write_far();
  }
  int ignored = 0;
  for (int i = 0; i < 4; ++i) turn(set, ignored);
  CHECK(served == std::vector<int>(kPairs, 1));
}
