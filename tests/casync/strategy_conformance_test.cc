// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <functional>
#include <random>

#include "casync/graph/access.h"
#include "casync/strategies/strategy.h"
#include "tests/support/meanings.h"

// Properties of every strategy, checked by running the graphs of all ranks. A new strategy joins with its name.
namespace casync::test {
namespace {

constexpr int kMostRanks = 16;
constexpr int kMostPartitions = 9;

// The placement of ranks on nodes.
enum class Nodes : std::uint8_t { kOne, kOfOneRank, kOfFour, kUneven, kScattered };

struct Case {
  StrategyKind strategy;
  Nodes nodes = Nodes::kOne;
  bool coded_terms = false;  ///< set by the first hop's codec
  bool votes = false;
};

Case any_strategy() {
  return GENERATE(values<Case>({{StrategyKind::kPs},
                                {StrategyKind::kPs, Nodes::kOne, true},
                                {StrategyKind::kRing},
                                {StrategyKind::kRing, Nodes::kOne, true},
                                {StrategyKind::kAllGather},
                                {StrategyKind::kTree},
                                {StrategyKind::kTree, Nodes::kOne, true},
                                {StrategyKind::kHierarchical, Nodes::kOne},
                                {StrategyKind::kHierarchical, Nodes::kOfOneRank},
                                {StrategyKind::kHierarchical, Nodes::kOfFour},
                                {StrategyKind::kHierarchical, Nodes::kUneven},
                                {StrategyKind::kHierarchical, Nodes::kScattered},
                                {StrategyKind::kHierarchical, Nodes::kOne, true},
                                {StrategyKind::kHierarchical, Nodes::kUneven, true},
                                {StrategyKind::kHierarchical, Nodes::kScattered, true}}));
}

Case any_vote() {
  return GENERATE(values<Case>({{StrategyKind::kPs, Nodes::kOne, true, true},
                                {StrategyKind::kRing, Nodes::kOne, true, true},
                                {StrategyKind::kAllGather, Nodes::kOne, true, true},
                                {StrategyKind::kTree, Nodes::kOne, true, true},
                                {StrategyKind::kHierarchical, Nodes::kOne, true, true},
                                {StrategyKind::kHierarchical, Nodes::kOfFour, true, true},
                                {StrategyKind::kHierarchical, Nodes::kScattered, true, true}}));
}

Topology topology_of(Nodes nodes, int ranks) {
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

// The seed of the random orders: another in each run, printed with each failure; CASYNC_TEST_SEED repeats one.
std::uint64_t seed() {
  static const std::uint64_t chosen = [] {
    const char* wanted = std::getenv("CASYNC_TEST_SEED");
    return wanted ? std::strtoull(wanted, nullptr, 10) : std::random_device{}();
  }();
  return chosen;
}

std::vector<TaskGraph> graphs_of(const Case& which, int ranks, int partitions, Elements elements) {
  const Decision decision{.strategy = which.strategy, .partitions = partitions};
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

// Calls check(graphs, ranks, elements, seed) for every shape of `which`.
template <class Check>
void for_every_shape(const Case& which, Check check) {
  std::uint64_t shape_seed = seed();
  for (int ranks = 1; ranks <= kMostRanks; ++ranks) {
    const auto n = static_cast<Elements>(ranks);
    for (int partitions = 1; partitions <= kMostPartitions; ++partitions) {
      for (Elements elements : {Elements{0}, Elements{1}, n - 1, n, n + 1, Elements{1023}, Elements{4099}}) {
        CAPTURE(name_of(which.strategy), which.nodes, ranks, partitions, elements, seed());
        check(graphs_of(which, ranks, partitions, elements), ranks, elements, ++shape_seed);
      }
    }
  }
}

// Gradients of small multiples of 1/8: sums of them are exact, in any order.
std::vector<std::vector<float>> random_gradients(int ranks, Elements elements, std::mt19937_64& random) {
  std::vector<std::vector<float>> gradients(static_cast<std::size_t>(ranks), std::vector<float>(elements));
  for (std::vector<float>& gradient : gradients) {
    for (float& value : gradient) value = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 8;
  }
  return gradients;
}

std::vector<float> sum_of(const std::vector<std::vector<float>>& vectors) {
  std::vector<float> sum(vectors[0].size());
  for (const std::vector<float>& vector : vectors) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += vector[i];
  }
  return sum;
}

// Number of elements of the gradient that a rank encodes, or merges, with a codec that may keep a residual.
Elements encoded_elements(const TaskGraph& graph) {
  Elements count = 0;
  for (const Primitive& task : graph.tasks()) {
    const auto to = written_buffer(task);
    if (!to || std::holds_alternative<Recv>(task)) continue;
    const Buffer& buffer = graph.buffers()[TaskGraph::index(*to)];
    if (buffer.hop == Hop::kFirst || buffer.hop == Hop::kSecond) count += buffer.slice.count;
  }
  return count;
}

bool all_equal(const std::vector<std::vector<float>>& vectors) {
  return std::adjacent_find(vectors.begin(), vectors.end(), std::not_equal_to<>()) == vectors.end();
}

}  // namespace

TEST_CASE("strategy: every graph is valid and every send has its recv") {
  for_every_shape(any_strategy(), [](const auto& graphs, int ranks, Elements elements, std::uint64_t) {
    for (Rank self = 0; self < ranks; ++self) {
      REQUIRE(graphs[static_cast<std::size_t>(self)].validate(elements, ranks, self).text() == "OK");
    }
    REQUIRE(check_messages(graphs).text() == "OK");
  });
}

// With this and what validate() asks, one residual for each element serves both hops.
TEST_CASE("strategy: a rank encodes each element at most once, unless each must encode its own") {
  const Case which = any_strategy();
  for_every_shape(which, [&](const auto& graphs, int, Elements elements, std::uint64_t) {
    for (const TaskGraph& graph : graphs) REQUIRE(encoded_elements(graph) <= (which.coded_terms ? 2 : 1) * elements);
  });
}

TEST_CASE("strategy: every rank ends with every contribution once, in whatever order the tasks run") {
  const Case which = any_strategy();
  const auto order = GENERATE(Order::kRandom, Order::kEarliest, Order::kLatest);
  const auto delivery = GENERATE(Delivery::kBuffered, Delivery::kRendezvous);
  for_every_shape(which, [&](const auto& graphs, int ranks, Elements elements, std::uint64_t shape_seed) {
    Contributions contributions(ranks, elements);
    REQUIRE(interpret(graphs, contributions, {order, delivery, shape_seed}).text() == "OK");
    REQUIRE(contributions.complete().text() == "OK");
  });
}

TEST_CASE("strategy: with an exact codec every rank ends with the average") {
  for_every_shape(any_strategy(), [](const auto& graphs, int ranks, Elements elements, std::uint64_t shape_seed) {
    std::mt19937_64 random(shape_seed);
    const float scale = 1.0F / static_cast<float>(ranks);
    Floats floats(random_gradients(ranks, elements, random), 0, 0, scale);
    std::vector<float> average = sum_of(floats.gradients());
    for (float& value : average) value *= scale;
    REQUIRE(interpret(graphs, floats, {.seed = shape_seed}).text() == "OK");
    REQUIRE(floats.gradients()[0] == average);
    REQUIRE(all_equal(floats.gradients()));
  });
}

TEST_CASE("strategy: with lossy codecs all ranks end alike and nothing is lost over the steps, on no hop") {
  for_every_shape(any_strategy(), [&](const auto& graphs, int ranks, Elements elements, std::uint64_t shape_seed) {
    std::mt19937_64 random(shape_seed);
    Floats floats(random_gradients(ranks, elements, random), 16, 64, 1);
    std::vector<float> given(elements), applied(elements);
    for (std::uint64_t step = 0; step < 2; ++step) {
      floats.gradients() = random_gradients(ranks, elements, random);
      given = sum_of({given, sum_of(floats.gradients())});
      REQUIRE(interpret(graphs, floats, {.seed = shape_seed + step}).text() == "OK");
      REQUIRE(all_equal(floats.gradients()));
      applied = sum_of({applied, floats.gradients()[0]});
    }
    REQUIRE(sum_of({applied, sum_of(floats.residuals())}) == given);
  });
}

// Ring, tree: a code on the way holds the elements of several ranks, each of which keeps what its own encoding lost.
TEST_CASE("strategy: a ring and a tree keep a residual at each hop") {
  constexpr int kRanks = 5;
  constexpr Elements kElements = 1000;
  for (const StrategyKind kind : {StrategyKind::kRing, StrategyKind::kTree}) {
    std::mt19937_64 random(seed());
    Floats floats(random_gradients(kRanks, kElements, random), 16, 64, 1);
    REQUIRE(interpret(graphs_of({kind}, kRanks, 1, kElements), floats, {.seed = seed()}).text() == "OK");
    CAPTURE(name_of(kind), seed());
    for (const std::vector<float>& residual : floats.residuals()) {
      CHECK(std::count_if(residual.begin(), residual.end(), [](float r) { return r != 0; }) > 900);
    }
  }
}

TEST_CASE("strategy: a vote counts each rank once, and no rank's magnitude") {
  const auto order = GENERATE(Order::kRandom, Order::kLatest);
  for_every_shape(any_vote(), [&](const auto& graphs, int ranks, Elements elements, std::uint64_t shape_seed) {
    for (Rank self = 0; self < ranks; ++self) {
      REQUIRE(graphs[static_cast<std::size_t>(self)].validate(elements, ranks, self).text() == "OK");
    }
    REQUIRE(check_messages(graphs).text() == "OK");
    std::vector<std::vector<float>> gradients(static_cast<std::size_t>(ranks), std::vector<float>(elements, -1e-3F));
    const Rank loud = static_cast<Rank>(shape_seed % static_cast<std::uint64_t>(ranks));
    gradients[static_cast<std::size_t>(loud)].assign(elements, 100.0F);
    Votes votes(gradients);
    REQUIRE(interpret(graphs, votes, {order, Delivery::kBuffered, shape_seed}).text() == "OK");
    // One of one, and one of two where a tie is 1, is the majority.
    const std::vector<float> majority(elements, ranks > 2 ? -1.0F : 1.0F);
    for (const std::vector<float>& result : votes.gradients()) REQUIRE(result == majority);
  });
}

TEST_CASE("strategy: the result does not depend on the order the tasks ran in") {
  for_every_shape(any_strategy(), [](const auto& graphs, int ranks, Elements elements, std::uint64_t shape_seed) {
    if (elements > 1023) return;
    // Thirds round in every sum: a sum in another order would show.
    std::mt19937_64 random(shape_seed);
    auto gradients = random_gradients(ranks, elements, random);
    for (auto& gradient : gradients) {
      for (float& value : gradient) value /= 3;
    }
    Floats one(gradients, 0, 0.5F, 1), other(gradients, 0, 0.5F, 1);
    REQUIRE(interpret(graphs, one, {.seed = shape_seed}).is_ok());
    REQUIRE(interpret(graphs, other, {Order::kLatest, Delivery::kRendezvous, 0}).is_ok());
    REQUIRE(one.gradients() == other.gradients());
    REQUIRE(one.residuals() == other.residuals());
  });
}

}  // namespace casync::test
