// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <functional>
#include <random>
#include <vector>

#include "casync/strategies/strategy.h"

namespace casync::test {

inline constexpr int kMostRanks = 16;
inline constexpr int kMostPartitions = 9;

/// The placement of ranks on nodes.
enum class Nodes : std::uint8_t { kOne, kOfOneRank, kOfFour, kUneven, kScattered };

struct Case {
  StrategyKind strategy;
  Nodes nodes = Nodes::kOne;
  bool coded_terms = false;  ///< set by the first hop's codec
  bool votes = false;
  Servers servers = {};  ///< at most as many as there are ranks
};

/// Every strategy of the table, on several layouts of nodes where it follows them, and 1, 2 and all ranks as servers.
inline std::vector<Case> all_cases(bool votes) {
  std::vector<Case> cases;
  for (const Strategy& strategy : strategies()) {
    for (const bool coded_terms : {false, true}) {
      if (votes && !coded_terms) continue;
      cases.push_back({strategy.kind, Nodes::kOne, coded_terms, votes});
      if (!strategy.levels) continue;
      for (const Nodes nodes : {Nodes::kOfOneRank, Nodes::kOfFour, Nodes::kUneven, Nodes::kScattered}) {
        cases.push_back({strategy.kind, nodes, coded_terms, votes});
      }
    }
  }
  for (const bool coded_terms : {false, true}) {
    if (votes && !coded_terms) continue;
    cases.push_back({StrategyKind::kPs, Nodes::kOne, coded_terms, votes, {1}});
    cases.push_back({StrategyKind::kPs, Nodes::kOfFour, coded_terms, votes, {2}});
    cases.push_back({StrategyKind::kPs, Nodes::kScattered, coded_terms, votes, {kMostRanks}});
  }
  return cases;
}

inline Case any_strategy() { return GENERATE(from_range(all_cases(false))); }
inline Case any_vote() { return GENERATE(from_range(all_cases(true))); }

inline Topology topology_of(Nodes nodes, int ranks) {
  Topology topology = Topology::flat(ranks);
  for (Rank rank = 0; nodes != Nodes::kOne && rank < ranks; ++rank) {
    const int uneven = rank < 4 ? 0 : rank < 6 ? 1 : rank < 8 ? 2 : rank < 9 ? 3 : 4;  // 4, 2, 2, 1 and the others
    topology.node_of.push_back(nodes == Nodes::kOfOneRank ? rank
                               : nodes == Nodes::kOfFour  ? rank / 4
                               : nodes == Nodes::kUneven  ? uneven
                                                          : rank * rank % 7 % 3);
  }
  return topology;
}

/// The seed of the random orders: another in each run, printed with each failure; CASYNC_TEST_SEED repeats one.
inline std::uint64_t seed() {
  static const std::uint64_t chosen = [] {
    const char* wanted = std::getenv("CASYNC_TEST_SEED");
    return wanted ? std::strtoull(wanted, nullptr, 10) : std::random_device{}();
  }();
  return chosen;
}

inline std::vector<TaskGraph> graphs_of(const Case& which, int ranks, int partitions, Elements elements) {
  const Servers servers{std::min(which.servers.count, ranks), which.servers.dedicated};
  const Decision decision{.strategy = which.strategy, .partitions = partitions, .servers = servers};
  const Topology topology = topology_of(which.nodes, ranks);
  const auto traits_of = [&](const CodecChoice&) -> Result<CodecTraits> {
    return CodecTraits{.coded_terms = which.coded_terms, .votes = which.votes};
  };
  std::vector<TaskGraph> graphs;
  for (Rank self = 0; self < ranks; ++self) {
    // Another first owner for each shape, the same on all ranks.
    const std::size_t first_owner = elements + static_cast<std::size_t>(partitions);
    auto graph = make_graph(decision, elements, topology, self, first_owner, traits_of);
    REQUIRE(graph.is_ok());
    graphs.push_back(std::move(*graph));
  }
  return graphs;
}

/// Gradients of small multiples of 1/8: sums of them are exact, in any order.
inline std::vector<std::vector<float>> random_gradients(int ranks, Elements elements, std::mt19937_64& random) {
  std::vector<std::vector<float>> gradients(static_cast<std::size_t>(ranks), std::vector<float>(elements));
  for (std::vector<float>& gradient : gradients) {
    for (float& value : gradient) value = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 8;
  }
  return gradients;
}

inline bool all_equal(const std::vector<std::vector<float>>& vectors) {
  return std::adjacent_find(vectors.begin(), vectors.end(), std::not_equal_to<>()) == vectors.end();
}

}  // namespace casync::test
