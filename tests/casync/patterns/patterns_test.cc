// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <set>

#include "casync/patterns/binary_tree.h"
#include "casync/patterns/delegates.h"
#include "casync/patterns/partition.h"
#include "casync/patterns/ring.h"
#include "casync/patterns/servers.h"
#include "casync/patterns/star.h"
#include "casync/patterns/tree.h"

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

TEST_CASE("star: all ranks serve each hub once ahead of any twice, whatever is left for the last round") {
  for (int ranks = 1; ranks <= 16; ++ranks) {
    const auto round = static_cast<std::size_t>(ranks);
    for (std::size_t partitions = 1; partitions <= 40; ++partitions) {
      for (Rank self = 0; self < ranks; ++self) {
        for (std::size_t k = 0; k < partitions; ++k) {
          CAPTURE(ranks, partitions, self, k);
          REQUIRE(star::kth_partition(k, partitions, self, 3, ranks) / round == k / round);
        }
      }
    }
  }
}

TEST_CASE("servers: nodes give one rank each in turns, the last node first, and each its last rank that is left") {
  const std::vector<int> even{0, 0, 0, 1, 1, 1}, uneven{0, 0, 1, 0, 2};
  const auto on = [](const std::vector<int>& node_of, int count) {
    return server_ranks(node_of, static_cast<int>(node_of.size()), count);
  };
  CHECK(server_ranks({}, 4, 1) == std::vector<Rank>{3});
  CHECK(server_ranks({}, 4, 3) == std::vector<Rank>{1, 2, 3});
  CHECK(server_ranks({}, 1, 1) == std::vector<Rank>{0});
  CHECK(on(even, 1) == std::vector<Rank>{5});
  CHECK(on(even, 2) == std::vector<Rank>{2, 5});
  CHECK(on(even, 3) == std::vector<Rank>{2, 4, 5});
  CHECK(on(uneven, 2) == std::vector<Rank>{2, 4});
  CHECK(on(uneven, 3) == std::vector<Rank>{2, 3, 4});
  CHECK(on(uneven, 4) == std::vector<Rank>{1, 2, 3, 4});  // node 0 alone has any left
}

TEST_CASE("servers: as many as asked for, ascending, rank 0 last of its node, and all where all are asked for") {
  for (int ranks = 1; ranks <= 16; ++ranks) {
    std::vector<int> node_of;
    for (Rank rank = 0; rank < ranks; ++rank) node_of.push_back(rank / 3);
    for (int count = 1; count <= ranks; ++count) {
      const std::vector<Rank> servers = server_ranks(node_of, ranks, count);
      CAPTURE(ranks, count);
      REQUIRE(static_cast<int>(servers.size()) == count);
      REQUIRE(std::adjacent_find(servers.begin(), servers.end(), std::greater_equal<>()) == servers.end());
      REQUIRE((servers.front() >= 0 && servers.back() == ranks - 1));
      REQUIRE((servers.front() > 0 || std::count(servers.begin(), servers.end(), 1) == (ranks > 1 ? 1 : 0)));
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

TEST_CASE("tree: every place but the root is the child of its parent, once") {
  for (int ranks = 1; ranks <= 33; ++ranks) {
    std::multiset<int> found;
    for (int place = 0; place < ranks; ++place) {
      for (int k = 0; k < tree::children(place, ranks); ++k) {
        const int child = tree::child(place, k);
        CAPTURE(ranks, place, child);
        REQUIRE(child < ranks);
        REQUIRE(tree::parent(child) == place);
        found.insert(child);
      }
    }
    CAPTURE(ranks);
    REQUIRE(static_cast<int>(found.size()) == ranks - 1);
    REQUIRE(std::set<int>(found.begin(), found.end()).size() == found.size());
    REQUIRE(!found.contains(0));
  }
}

TEST_CASE("tree: size, height and depth are what counting gives") {
  for (int ranks = 1; ranks <= 33; ++ranks) {
    std::vector<int> size(static_cast<std::size_t>(ranks), 1), height(static_cast<std::size_t>(ranks), 0);
    for (int place = ranks - 1; place > 0; --place) {  // children come after their parents
      const auto from = static_cast<std::size_t>(place), to = static_cast<std::size_t>(tree::parent(place));
      size[to] += size[from];
      height[to] = std::max(height[to], height[from] + 1);
    }
    for (int place = 0; place < ranks; ++place) {
      CAPTURE(ranks, place);
      REQUIRE(tree::size(place, ranks) == size[static_cast<std::size_t>(place)]);
      REQUIRE(tree::height(place, ranks) == height[static_cast<std::size_t>(place)]);
      int depth = 0;
      for (int at = place; at != 0; at = tree::parent(at)) ++depth;
      REQUIRE(tree::depth(place) == depth);
      REQUIRE(depth <= tree::height(0, ranks));
    }
  }
}

TEST_CASE("tree: hops grow along the way up") {
  for (int ranks = 2; ranks <= 33; ++ranks) {
    for (int place = 1; place < ranks; ++place) {
      const int parent = tree::parent(place);
      CAPTURE(ranks, place);
      REQUIRE((parent == 0 || tree::up_hop(place, ranks) < tree::up_hop(parent, ranks)));
      REQUIRE(tree::up_hop(place, ranks) < static_cast<std::uint32_t>(tree::height(0, ranks)));
    }
  }
}

TEST_CASE("tree: places and ranks undo each other, and the root has place 0") {
  for (int ranks = 1; ranks <= 16; ++ranks) {
    for (Rank root = 0; root < ranks; ++root) {
      CAPTURE(ranks, root);
      REQUIRE(tree::place(root, root, ranks) == 0);
      for (Rank rank = 0; rank < ranks; ++rank) REQUIRE(tree::at(tree::place(rank, root, ranks), root, ranks) == rank);
    }
  }
}

TEST_CASE(
    "binary tree: parents have two children at most, subtrees are runs of places, and no place is deeper than log2") {
  for (int ranks = 1; ranks <= 130; ++ranks) {
    std::vector<int> size(static_cast<std::size_t>(ranks), 1), children(size.size()), numbers;
    int depths = 0, deepest = 0;
    for (int place = ranks - 1; place >= 0; --place) {  // children come after their parents
      const binary_tree::Node node = binary_tree::with_place(place, ranks);
      CAPTURE(ranks, place);
      REQUIRE(node.place == place);
      REQUIRE(binary_tree::with_number(node.number(), ranks).place == place);
      REQUIRE(node.size == size[static_cast<std::size_t>(place)]);
      REQUIRE(node.children() == children[static_cast<std::size_t>(place)]);
      REQUIRE(node.children() <= 2);
      REQUIRE((node.children() > 0) == (node.number() % 2 == 1));
      numbers.push_back(node.number());
      depths += node.depth;
      deepest = std::max(deepest, node.depth);
      if (place == 0) break;
      REQUIRE(node.parent < place);
      REQUIRE(node.depth == binary_tree::with_place(node.parent, ranks).depth + 1);
      REQUIRE(place + node.size <= node.parent + binary_tree::with_place(node.parent, ranks).size);
      size[static_cast<std::size_t>(node.parent)] += node.size;
      ++children[static_cast<std::size_t>(node.parent)];
    }
    std::sort(numbers.begin(), numbers.end());
    for (int number = 0; number < ranks; ++number) REQUIRE(numbers[static_cast<std::size_t>(number)] == number);
    CHECK(deepest == binary_tree::height(ranks));
    CHECK((1 << deepest) <= ranks);
    CHECK(binary_tree::mean_depth(ranks) == Approx(static_cast<double>(depths) / ranks));
  }
}

TEST_CASE(
    "binary tree: no rank has children in two trees whose roots are neighbours, and every rank is a leaf of one") {
  for (int ranks = 2; ranks <= 65; ++ranks) {
    for (const Rank root : {0, 1, ranks / 2, ranks - 1}) {
      const Rank other = (root + 1) % ranks;
      for (Rank rank = 0; rank < ranks; ++rank) {
        CAPTURE(ranks, root, rank);
        int with_children = 0;
        for (const Rank at : {root, other}) {
          const int number = binary_tree::number_of(rank, at, ranks);
          REQUIRE(binary_tree::rank_of(number, at, ranks) == rank);
          with_children += binary_tree::with_number(number, ranks).children() > 0 ? 1 : 0;
        }
        REQUIRE(with_children <= 1);
      }
      REQUIRE(binary_tree::with_number(binary_tree::number_of(root, root, ranks), ranks).place == 0);
    }
  }
}

TEST_CASE("nodes: in the order of their first ranks, whatever they are called") {
  CHECK(nodes_of({}, 3) == std::vector<Node>{{0, 1, 2}});
  const std::vector<int> names{7, 7, 2, 7, 5, 2};
  const std::vector<Node> nodes = nodes_of(names, 6);
  CHECK(nodes == std::vector<Node>{{0, 1, 3}, {2, 5}, {4}});
  for (Rank rank = 0; rank < 6; ++rank) {
    const Node& node = node_with(nodes, rank);
    CAPTURE(rank);
    CHECK(std::count(node.begin(), node.end(), rank) == 1);
    CHECK(names[static_cast<std::size_t>(node.front())] == names[static_cast<std::size_t>(rank)]);
  }
}

TEST_CASE(
    "nodes: equal nodes give every rank one partition of as many as there are ranks, and delegates for each node") {
  for (int nodes = 1; nodes <= 6; ++nodes) {
    for (int size = 1; size <= 6; ++size) {
      std::vector<int> node_of;
      for (int rank = 0; rank < nodes * size; ++rank) node_of.push_back(rank / size);
      const std::vector<Node> all = nodes_of(node_of, nodes * size);
      std::set<Rank> owners;
      std::map<Rank, int> turns;
      for (std::size_t turn = 5; turn < 5 + node_of.size(); ++turn) {
        owners.insert(delegate(all[owner_node(all, turn)], turn));
        for (const Node& node : all) ++turns[delegate(node, turn)];
      }
      CAPTURE(nodes, size);
      REQUIRE(owners.size() == node_of.size());
      for (const auto& [rank, times] : turns) REQUIRE(times == nodes);
    }
  }
}

TEST_CASE("nodes: on unequal nodes all ranks of a node take turns, and all nodes own") {
  const std::vector<int> node_of{0, 0, 0, 0, 1, 1, 2, 2};
  const std::vector<Node> all = nodes_of(node_of, 8);
  std::map<std::size_t, int> owned;
  std::map<Rank, int> turns;
  for (std::size_t turn = 0; turn < 12; ++turn) {
    ++owned[owner_node(all, turn)];
    for (const Node& node : all) ++turns[delegate(node, turn)];
  }
  CHECK(owned == std::map<std::size_t, int>{{0, 4}, {1, 4}, {2, 4}});
  CHECK(turns == std::map<Rank, int>{{0, 3}, {1, 3}, {2, 3}, {3, 3}, {4, 6}, {5, 6}, {6, 6}, {7, 6}});
}

}  // namespace casync::test
