// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/leavers.h"

#include <catch2/catch.hpp>

#include "tests/runtime/control/control_support.h"

using namespace casync;
using namespace casync::runtime;
using namespace casync::runtime::testing;

TEST_CASE("leavers: the first goodbye is due at once, later ones after a pause and together") {
  const Clock::time_point now = Clock::now();
  Leavers leavers(9);
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

TEST_CASE("leavers: the last rank's goodbye is due at once, with all that wait: nobody follows it") {
  const Clock::time_point now = Clock::now();
  Leavers leavers(3);
  leavers.add(0, "step 7");
  leavers.take(now);
  leavers.add(2, "step 7");
  CHECK(leavers.due() > now);
  leavers.add(1, "step 7");
  CHECK(leavers.due() <= now);
  CHECK(leavers.take(now).front().ranks == std::vector<Rank>{2, 1});
  CHECK(leavers.due() == Clock::time_point::max());
}

TEST_CASE("leavers: when a hundred ranks leave, every goodbye is heard once and with its words") {
  constexpr int kRanks = 100;
  Ranks group(kRanks);
  for (const std::string& text : texts_of(group.joined)) REQUIRE(text == "");
  const auto words_of = [](Rank rank) { return std::string(20'000, rank % 2 == 0 ? 'e' : 'o'); };
  std::mutex mutex;
  std::map<Rank, std::vector<std::string>> heard;
  for (const Rank listener : {1, kRanks - 1}) {
    (*group.joined[static_cast<std::size_t>(listener)])->watch_leavers([&](Rank rank, const LastWords& words) {
      const std::lock_guard lock(mutex);
      heard[rank].push_back(words.to_all);
    });
  }
  std::vector<Status> closed(kRanks);
  group.each([&](Rank rank, Group& each) {
    closed[static_cast<std::size_t>(rank)] = each.close(after(Seconds(20)), {words_of(rank)});
  });
  for (const Status& status : closed) CHECK(status.text() == "OK");
  REQUIRE(heard.size() == kRanks);
  for (const auto& [rank, words] : heard) {
    const std::size_t listeners = rank == 1 || rank == kRanks - 1 ? 1 : 2;
    CHECK(words == std::vector<std::string>(listeners, words_of(rank)));
  }
}

TEST_CASE("leavers: a rank that is busy when the others leave hears every goodbye") {
  constexpr int kRanks = 24;  // their last words are more than sockets hold
  constexpr Rank kBusy = kRanks - 1;
  Ranks group(kRanks);
  for (const std::string& text : texts_of(group.joined)) REQUIRE(text == "");
  const auto words_of = [](Rank rank) { return std::string(900'000, static_cast<char>('a' + rank)); };
  std::set<Rank> heard;
  (*group.joined[static_cast<std::size_t>(kBusy)])->watch_leavers([&](Rank rank, const LastWords& words) {
    if (heard.empty()) std::this_thread::sleep_for(std::chrono::seconds(3));
    if (words.to_all == words_of(rank)) heard.insert(rank);
  });
  std::vector<Status> closed(kRanks);
  group.each([&](Rank rank, Group& each) {
    closed[static_cast<std::size_t>(rank)] = each.close(after(Seconds(20)), {words_of(rank)});
  });
  for (const Status& status : closed) CHECK(status.text() == "OK");
  CHECK(heard.size() == kRanks - 1);
}
