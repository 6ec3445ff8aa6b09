// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/met_peers.h"

#include <optional>
#include <vector>

#include <catch2/catch.hpp>

namespace casync::test {
namespace {

using casync::runtime::MetPeers;

}  // namespace

TEST_CASE("met peers: each is new once") {
  MetPeers peers(4, 100);
  CHECK_FALSE(peers.has(2));
  peers.add(2);
  peers.add(2);
  peers.add(1);
  CHECK(peers.has(2));
  CHECK(peers.take_new() == std::vector<Rank>{2, 1});
  peers.add(2);
  CHECK(peers.take_new().empty());
  CHECK_FALSE(peers.has(3));
}

TEST_CASE("met peers: a crowd begins above the limit and is over at half of it") {
  MetPeers peers(2, 100);
  CHECK(peers.crowd_change(100) == std::nullopt);
  CHECK_FALSE(peers.is_crowded());
  CHECK(peers.crowd_change(101) == true);
  CHECK(peers.crowd_change(200) == std::nullopt);
  CHECK(peers.crowd_change(51) == std::nullopt);
  CHECK(peers.is_crowded());
  CHECK(peers.crowd_change(50) == false);
  CHECK_FALSE(peers.is_crowded());
  CHECK(peers.crowd_change(100) == std::nullopt);
}

}  // namespace casync::test
