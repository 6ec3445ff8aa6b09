// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/group_state.h"

#include <catch2/catch.hpp>

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

TEST_CASE("group state: the first failure stands, and each watcher hears it once") {
  GroupState state(0);
  std::vector<std::string> heard;
  state.watchers().add([&](const Status& cause) { heard.push_back(cause.text()); });
  state.failed(data_loss("first"));
  state.failed(internal_error("second"));
  CHECK(state.failure().text() == "DataLoss: first");
  CHECK(heard == std::vector<std::string>{"DataLoss: first"});
}
