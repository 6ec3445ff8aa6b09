// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/leavers.h"

#include <catch2/catch.hpp>

#include "tests/control/control_support.h"

using namespace casync;
using namespace casync::runtime;
using namespace casync::runtime::testing;

TEST_CASE("leavers: the first goodbye is due at once, those behind it a pause later and together") {
  const Clock::time_point now = Clock::now();
  Leavers leavers;
  CHECK(leavers.due() == Clock::time_point::max());
  leavers.add(3, "step 7");
  CHECK(leavers.due() <= now);
  CHECK(leavers.take(now).size() == 1);
  CHECK(leavers.due() == Clock::time_point::max());
  leavers.add(1, "step 7");
  leavers.add(2, "step 6");
  leavers.add(4, "step 7");
  CHECK(leavers.due() == now + Leavers::kPause);
  const std::vector<Goodbye> goodbyes = leavers.take(now + Leavers::kPause);
  REQUIRE(goodbyes.size() == 2);
  CHECK(goodbyes[0].last_words == "step 6");
  CHECK(goodbyes[0].ranks == std::vector<Rank>{2});
  CHECK(goodbyes[1].last_words == "step 7");
  CHECK(goodbyes[1].ranks == std::vector<Rank>{1, 4});
}

TEST_CASE("leavers: every rank hears every goodbye with its words, and same words travel seldom") {
  constexpr int kRanks = 100;
  constexpr Bytes kWords = 20'000;
  Ranks group(kRanks);
  for (const std::string& text : texts_of(group.joined)) REQUIRE(text == "");
  Group& listener = **group.joined[1];
  std::mutex mutex;
  std::map<Rank, std::string> heard;
  listener.watch_leavers([&](Rank rank, const std::string& words) {
    const std::lock_guard lock(mutex);
    heard[rank] = words;
  });
  const auto all_heard = [&] {
    const std::lock_guard lock(mutex);
    return heard.size() == kRanks - 1;
  };
  const Bytes before = listener.control_bytes();
  Bytes moved = 0;
  group.each([&](Rank rank, Group& each) {
    const char word = rank % 2 == 0 ? 'e' : 'o';
    if (rank != 1) static_cast<void>(each.close(after(Seconds(20)), std::string(kWords, word)));
    if (rank != 1) return;
    for (const auto deadline = after(Seconds(20)); !all_heard() && Clock::now() < deadline;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    moved = listener.control_bytes() - before;
    static_cast<void>(each.close(after(Seconds(0))));
  });
  REQUIRE(all_heard());
  for (const auto& [rank, words] : heard) CHECK(words == std::string(kWords, rank % 2 == 0 ? 'e' : 'o'));
  CHECK(moved < kRanks * kWords / 2);
}
