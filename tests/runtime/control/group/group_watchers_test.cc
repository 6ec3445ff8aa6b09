// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/group_watchers.h"

#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace casync;
using namespace casync::runtime;

TEST_CASE("group watchers: each hears of the failure once, and one that is added later hears of it next") {
  GroupWatchers watchers;
  std::vector<std::string> heard;
  const auto hear = [&](const Status& cause) { heard.push_back(cause.text()); };
  watchers.add(hear);
  watchers.add([&](const Status&) { watchers.add(hear); });
  watchers.tell_failed(data_loss("first"));
  CHECK(heard == std::vector<std::string>{"DataLoss: first"});
  watchers.tell_failed(data_loss("again"));
  CHECK(heard == std::vector<std::string>{"DataLoss: first", "DataLoss: again"});
  watchers.tell_failed(data_loss("third"));
  CHECK(heard.size() == 2);
}

TEST_CASE("group watchers: the last one that was set hears of agreements and of needs, every time") {
  GroupWatchers watchers;
  watchers.tell_agreed({});
  watchers.tell_needed("nobody listens", 1);
  int former = 0, agreements = 0;
  std::vector<std::string> needs;
  watchers.set_agreement([&](const Agreement&) { ++former; });
  watchers.set_agreement([&](const Agreement&) { ++agreements; });
  watchers.set_need([&](const std::string& name, std::uint32_t step) {
    needs.push_back(name + " " + std::to_string(step));
    watchers.set_need({});
  });
  watchers.tell_agreed({});
  watchers.tell_agreed({});
  watchers.tell_needed("a", 7);
  watchers.tell_needed("b", 8);
  CHECK(former == 0);
  CHECK(agreements == 2);
  CHECK(needs == std::vector<std::string>{"a 7"});
}

TEST_CASE("group watchers: all hear of each rank that leaves") {
  GroupWatchers watchers;
  std::vector<Rank> first, second;
  watchers.add_leave([&](Rank rank, const LastWords&) { first.push_back(rank); });
  watchers.tell_left(3, {"bye"});
  watchers.add_leave([&](Rank rank, const LastWords& words) {
    CHECK(words.to_all == "see you");
    second.push_back(rank);
  });
  watchers.tell_left(1, {"see you"});
  CHECK(first == std::vector<Rank>{3, 1});
  CHECK(second == std::vector<Rank>{1});
}
