// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/group_state.h"

#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

using namespace casync;
using namespace casync::runtime;

namespace {

std::vector<Identity> roster_on(const std::vector<std::string>& machines) {
  std::vector<Identity> roster;
  for (const std::string& machine : machines) {
    roster.push_back(own_identity(static_cast<Rank>(roster.size()), static_cast<int>(machines.size())));
    roster.back().machine = machine;
  }
  return roster;
}

}  // namespace

TEST_CASE("group state: a rank counts those on its own machine") {
  const std::vector<std::string> machines = {"a", "b", "a", "", "a", ""};
  const std::vector<int> expected = {3, 1, 3, 1, 3, 1};  // a machine without a name is nobody's neighbour
  for (Rank rank = 0; rank < static_cast<Rank>(machines.size()); ++rank) {
    GroupState state(rank);
    state.joined(roster_on(machines));
    CHECK(state.local_ranks() == expected[static_cast<std::size_t>(rank)]);
  }
}

TEST_CASE("group state: ranks are one process only where machine, host, process id and its start are the same") {
  const auto is_one = [](const std::function<void(Identity&)>& change) {
    std::vector<Identity> roster = roster_on({"a", "a", "a"});
    change(roster[2]);
    GroupState state(0);
    state.joined(std::move(roster));
    return state.is_one_process();
  };
  CHECK(is_one([](Identity&) {}));
  CHECK_FALSE(is_one([](Identity& last) { last.machine = "b"; }));
  CHECK_FALSE(is_one([](Identity& last) { last.host += "2"; }));
  CHECK_FALSE(is_one([](Identity& last) { ++last.pid; }));
  CHECK_FALSE(is_one([](Identity& last) { ++last.started; }));
}

TEST_CASE("group state: a rank that goes on alone names the one that left in what is not agreed") {
  GroupState state(5);
  state.alone(3);
  const auto agreed = state.wait_agreed("settings", Clock::now());
  REQUIRE(agreed.has_value());
  CHECK(agreed->text() == "PeerFailure: rank 3 closed its session while ranks had yet to agree on \"settings\"");
}

TEST_CASE("group state: the first failure stands, and each watcher hears it once") {
  GroupState state(0);
  std::vector<std::string> heard;
  state.watchers().add([&](const Status& cause) { heard.push_back(cause.text()); });
  state.failed(data_loss("first"));
  state.failed(internal_error("second"));
  CHECK(state.failure().text() == "DataLoss: first");
  CHECK(heard == std::vector<std::string>{"DataLoss: first"});
}
