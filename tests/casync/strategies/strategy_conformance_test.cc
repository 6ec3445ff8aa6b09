// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <random>

#include "casync/graph/access.h"
#include "tests/casync/strategies/strategy_cases.h"
#include "tests/support/meanings.h"

// Properties of every strategy, checked by running the graphs of all ranks. A new strategy joins with its name.
namespace casync::test {
namespace {

// Calls check(graphs, ranks, elements, seed) for every shape of `which`.
template <class Check>
void for_every_shape(const Case& which, Check check) {
  std::uint64_t shape_seed = seed();
  for (int ranks = 1; ranks <= kMostRanks; ++ranks) {
    const auto n = static_cast<Elements>(ranks);
    for (int partitions = 1; partitions <= kMostPartitions; ++partitions) {
      std::vector<Elements> sizes = {0, 1, n - 1, n, n + 1, 255};
      // Partitions that are aligned, and elements left over.
      const Elements aligned = static_cast<Elements>(partitions) * kAlignedPartition + 3;
      if (partitions <= 4) sizes.push_back(aligned);
      for (const Elements elements : sizes) {
        CAPTURE(name_of(which.strategy), which.servers.count, which.nodes, ranks, partitions, elements, seed());
        check(graphs_of(which, ranks, partitions, elements), ranks, elements, ++shape_seed);
      }
    }
  }
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
  for_every_shape(any_strategy(), [](const auto& graphs, int ranks, Elements elements, std::uint64_t shape_seed) {
    for (const Order order : {Order::kRandom, Order::kEarliest, Order::kLatest}) {
      for (const Delivery delivery : {Delivery::kBuffered, Delivery::kRendezvous}) {
        CAPTURE(static_cast<int>(order), static_cast<int>(delivery));
        Contributions contributions(ranks, elements);
        REQUIRE(interpret(graphs, contributions, {order, delivery, shape_seed}).text() == "OK");
        REQUIRE(contributions.complete().text() == "OK");
      }
    }
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

// A code on the way holds the elements of several ranks, each of which keeps what its own encoding lost.
TEST_CASE("strategy: rings and trees keep a residual at each hop") {
  constexpr int kRanks = 5;
  constexpr Elements kElements = 1000;
  for (const Strategy& strategy : strategies()) {
    if (strategy.encodings == nullptr) continue;
    const StrategyKind kind = strategy.kind;
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
