// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <set>

#include "casync/patterns/partition.h"
#include "casync/patterns/ring.h"
#include "casync/patterns/star.h"

namespace casync::test {

TEST_CASE("star: the spokes of a hub are all other ranks, once each") {
  for (int ranks = 1; ranks <= 16; ++ranks) {
    for (Rank hub = 0; hub < ranks; ++hub) {
      std::set<Rank> ends;
      for (int k = 0; k < star::spokes(ranks); ++k) ends.insert(star::spoke(hub, k, ranks));
      CAPTURE(ranks, hub);
      REQUIRE(static_cast<int>(ends.size()) == ranks - 1);
      REQUIRE(!ends.contains(hub));
      REQUIRE((ends.empty() || (*ends.begin() >= 0 && *ends.rbegin() < ranks)));
    }
  }
}

TEST_CASE("star: each rank serves every partition once, whatever the first owner") {
  for (int ranks = 1; ranks <= 16; ++ranks) {
    for (std::size_t partitions = 1; partitions <= 40; ++partitions) {
      for (std::size_t first_owner : {std::size_t{0}, std::size_t{5}, std::size_t{1000}}) {
        std::set<std::size_t> served;
        for (std::size_t k = 0; k < partitions; ++k) {
          served.insert(star::kth_partition(k, partitions, ranks - 1, first_owner, ranks));
        }
        CAPTURE(ranks, partitions, first_owner);
        REQUIRE(served.size() == partitions);
        REQUIRE(*served.rbegin() == partitions - 1);
      }
    }
  }
}

TEST_CASE("star: with as many partitions as ranks, all ranks feed different hubs at each step, themselves last") {
  for (int ranks = 1; ranks <= 16; ++ranks) {
    const auto partitions = static_cast<std::size_t>(ranks);
    for (std::size_t k = 0; k < partitions; ++k) {
      std::set<Rank> hubs;
      for (Rank self = 0; self < ranks; ++self) {
        const Rank hub = partition_owner(star::kth_partition(k, partitions, self, 3, ranks), 3, ranks);
        hubs.insert(hub);
        CAPTURE(ranks, k, self);
        REQUIRE((hub == self) == (k + 1 == partitions));
      }
      REQUIRE(static_cast<int>(hubs.size()) == ranks);
    }
  }
}

TEST_CASE("ring: successor and predecessor undo each other") {
  for (int ranks = 1; ranks <= 16; ++ranks) {
    for (Rank rank = 0; rank < ranks; ++rank) {
      CAPTURE(ranks, rank);
      REQUIRE(ring::predecessor(ring::successor(rank, ranks), ranks) == rank);
    }
  }
}

TEST_CASE("ring: a partition goes from behind its owner through every rank to the owner") {
  for (int ranks = 1; ranks <= 16; ++ranks) {
    for (Rank owner = 0; owner < ranks; ++owner) {
      CAPTURE(ranks, owner);
      REQUIRE(ring::at(0, owner, ranks) == ring::successor(owner, ranks));
      REQUIRE(ring::at(ranks - 1, owner, ranks) == owner);
      for (int position = 0; position < ranks; ++position) {
        const Rank rank = ring::at(position, owner, ranks);
        REQUIRE(ring::position(rank, owner, ranks) == position);
        REQUIRE((position == 0 || ring::predecessor(rank, ranks) == ring::at(position - 1, owner, ranks)));
      }
    }
  }
}

TEST_CASE("ring: the hops of a partition are numbered along its way without a gap") {
  for (int ranks = 2; ranks <= 16; ++ranks) {
    std::uint32_t hop = 0;
    for (int position = 0; position < ranks - 1; ++position) REQUIRE(ring::reduce_hop(position) == hop++);
    for (int position = 0; position < ranks - 1; ++position) REQUIRE(ring::gather_hop(position, ranks) == hop++);
  }
}

}  // namespace casync::test
