// SPDX-License-Identifier: Apache-2.0
#include "casync/strategies/owners.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <random>
#include <string>

#include "casync/patterns/partition.h"
#include "casync/patterns/servers.h"

namespace casync {
namespace {

/// Names that live as long as the list.
struct Model {
  std::vector<std::string> names;
  std::vector<OwnedGradient> gradients;

  void add(std::string name, Elements elements, int partitions, int servers = 0) {
    names.push_back(std::move(name));
    gradients.push_back({{}, elements, partitions, servers});
    for (std::size_t i = 0; i < names.size(); ++i) gradients[i].name = names[i];
  }
};

std::vector<Elements> owned_by(const Model& model, const Topology& topology) {
  const int ranks = topology.ranks;
  std::vector<Elements> owned(static_cast<std::size_t>(ranks));
  const std::vector<std::size_t> first = first_owners(model.gradients, topology);
  for (std::size_t g = 0; g < first.size(); ++g) {
    const auto [name, elements, count, serving] = model.gradients[g];
    const auto partitions = static_cast<std::size_t>(count);
    const std::vector<Rank> servers = server_ranks(topology.node_of, ranks, serving > 0 ? serving : ranks);
    for (std::size_t p = 0; p < partitions; ++p) {
      const auto owner = static_cast<std::size_t>(servers[(first[g] + p) % servers.size()]);
      owned[owner] += partition_begin(elements, partitions, p + 1) - partition_begin(elements, partitions, p);
    }
  }
  return owned;
}

TEST_CASE("gradients of one size take turns") {
  Model model;
  for (int i = 0; i < 10; ++i) model.add("g" + std::to_string(i), 1000, 1);
  CHECK(first_owners(model.gradients, Topology::flat(4)) == std::vector<std::size_t>{0, 1, 2, 3, 0, 1, 2, 3, 0, 1});
}

TEST_CASE("as many gradients a layer as there are ranks do not all meet at one") {
  Model model;  // a layer of BERT: sixteen gradients, four of which are large
  for (int layer = 0; layer < 24; ++layer) {
    for (int i = 0; i < 16; ++i) {
      const std::string name = "layer" + std::to_string(100 + layer) + "." + std::to_string(10 + i);
      model.add(name, i % 4 == 0 ? 1'048'576 : 1024, 1);
    }
  }
  const std::vector<Elements> owned = owned_by(model, Topology::flat(16));
  const auto [least, most] = std::minmax_element(owned.begin(), owned.end());
  CHECK(*most - *least <= 1'048'576);
}

TEST_CASE("no rank owns more than its share and the largest part of a gradient") {
  std::mt19937 random(7);
  for (int trial = 0; trial < 300; ++trial) {
    const int ranks = 1 + static_cast<int>(random() % 20);
    Model model;
    Elements total = 0, largest = 0;
    const auto gradients = static_cast<int>(random() % 60);
    for (int i = 0; i < gradients; ++i) {
      const Elements elements = random() % (Elements{1} << (1 + random() % 22));
      const int partitions = random() % 2 == 0 ? 1 : ranks * (1 + static_cast<int>(random() % 3));
      model.add("g" + std::to_string(random()), elements, partitions);
      total += elements;
      largest = std::max(largest, partition_begin(elements, static_cast<std::size_t>(partitions), 1));
    }
    const std::vector<Elements> owned = owned_by(model, Topology::flat(ranks));
    CHECK(std::accumulate(owned.begin(), owned.end(), Elements{0}) == total);
    // Partitions that are not of one size differ by a unit of alignment.
    const Elements slack = 2 * kPartitionAlignment * static_cast<Elements>(gradients);
    CHECK(*std::max_element(owned.begin(), owned.end()) <= total / static_cast<Elements>(ranks) + largest + slack);
  }
}

TEST_CASE("the order of declarations changes nothing") {
  Model model;
  for (int i = 0; i < 30; ++i)
    model.add("g" + std::to_string(i * 7919 % 31), static_cast<Elements>(i * i * 100), 1 + i % 5);
  std::vector<OwnedGradient> reversed(model.gradients.rbegin(), model.gradients.rend());
  std::vector<std::size_t> first = first_owners(model.gradients, Topology::flat(6));
  std::reverse(first.begin(), first.end());
  CHECK(first_owners(reversed, Topology::flat(6)) == first);
}

TEST_CASE("servers own all, about as much each, and other ranks nothing") {
  std::mt19937 random(11);
  for (int trial = 0; trial < 200; ++trial) {
    const auto ranks = static_cast<int>(2 + random() % 19);
    const auto serving = static_cast<int>(1 + random() % static_cast<unsigned>(ranks));
    Topology topology = Topology::flat(ranks);
    for (Rank rank = 0; trial % 2 == 0 && rank < ranks; ++rank) topology.node_of.push_back(rank / 4);
    Model model;
    Elements total = 0, largest = 0;
    for (int i = 0; i < 40; ++i) {
      const Elements elements = random() % (Elements{1} << (1 + random() % 20));
      const int partitions = random() % 2 == 0 ? 1 : serving * (1 + static_cast<int>(random() % 3));
      model.add("g" + std::to_string(random()), elements, partitions, serving);
      total += elements;
      largest = std::max(largest, partition_begin(elements, static_cast<std::size_t>(partitions), 1));
    }
    const std::vector<Elements> owned = owned_by(model, topology);
    const std::vector<Rank> servers = server_ranks(topology.node_of, ranks, serving);
    Elements by_servers = 0;
    for (const Rank server : servers) {
      const Elements own = owned[static_cast<std::size_t>(server)];
      by_servers += own;
      CHECK(own <= total / static_cast<Elements>(serving) + largest + 2 * kPartitionAlignment * 40);
    }
    CHECK(by_servers == total);
    CHECK(std::accumulate(owned.begin(), owned.end(), Elements{0}) == total);
  }
}

TEST_CASE("gradients that all ranks may own go first to those that are no servers of others") {
  Model model;
  model.add("a", 4096, 2, 2);  // on ranks 2 and 3
  model.add("b", 1000, 1);
  model.add("c", 1000, 1);
  model.add("d", 100, 1);
  CHECK(owned_by(model, Topology::flat(4)) == std::vector<Elements>{1100, 1000, 2048, 2048});
}

TEST_CASE("nothing and one rank") {
  CHECK(first_owners({}, Topology::flat(3)).empty());
  Model model;
  model.add("a", 0, 1);
  model.add("b", 5, 9);
  CHECK(first_owners(model.gradients, Topology::flat(1)) == std::vector<std::size_t>{0, 0});
}

}  // namespace
}  // namespace casync
