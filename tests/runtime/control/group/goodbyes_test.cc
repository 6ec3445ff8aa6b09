// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/goodbyes.h"

#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace casync;
using namespace casync::runtime;

namespace {

struct Fixture {
  std::vector<Goodbye> announced;
  Goodbyes goodbyes{9, [this](const Goodbye& goodbye) { announced.push_back(goodbye); }};
  const Clock::time_point now = Clock::now();
};

}  // namespace

TEST_CASE_METHOD(Fixture, "goodbyes: a rank has left from its goodbye on, and the lowest of them is the first") {
  CHECK(goodbyes.first_left() == std::nullopt);
  goodbyes.add(5, {}, now);
  goodbyes.add(3, {}, now);
  CHECK(goodbyes.has_left(3));
  CHECK_FALSE(goodbyes.has_left(4));
  CHECK(goodbyes.first_left() == 3);
}

TEST_CASE_METHOD(Fixture, "goodbyes: the first is announced at once, later ones when they are due or all have to be") {
  goodbyes.add(1, {"step 7"}, now);
  REQUIRE(announced.size() == 1);
  CHECK(announced[0].ranks == std::vector<Rank>{1});
  CHECK(announced[0].last_words == "step 7");
  CHECK(goodbyes.all_announced());
  goodbyes.add(2, {"step 7"}, now);
  CHECK(announced.size() == 1);
  CHECK_FALSE(goodbyes.all_announced());
  goodbyes.announce_due(now);
  CHECK(announced.size() == 1);
  goodbyes.announce_due(goodbyes.due());
  CHECK(announced.size() == 2);
  goodbyes.add(3, {"step 7"}, now);
  goodbyes.announce_all(now);
  CHECK(announced.size() == 3);
  CHECK(goodbyes.due() == Clock::time_point::max());
}

TEST_CASE_METHOD(Fixture, "goodbyes: words for rank 0 go with the same rank's goodbye, once, and to nobody else") {
  goodbyes.keep_hub_words(4, "a secret");
  CHECK(goodbyes.words_of(3, "step 7").to_hub.empty());
  const LastWords words = goodbyes.words_of(4, "step 7");
  CHECK(words.to_hub == "a secret");
  CHECK(words.to_all == "step 7");
  CHECK(goodbyes.words_of(4, "step 7").to_hub.empty());
  goodbyes.add(4, words, now);
  CHECK(announced.at(0).last_words == "step 7");
}
