// SPDX-License-Identifier: Apache-2.0
//
// Strategy ps with servers: who owns, who sends how much, and the proofs of servers that contribute nothing. Servers
// that contribute are among the cases of every strategy.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>

#include "casync/patterns/servers.h"
#include "tests/casync/strategies/strategy_cases.h"
#include "tests/support/meanings.h"

namespace casync::test {
namespace {

struct Shape {
  Case which;
  int ranks = 0;
  Elements elements = 0;
  std::vector<Rank> servers;
  std::uint64_t seed = 0;

  bool contributes(Rank rank) const { return std::find(servers.begin(), servers.end(), rank) == servers.end(); }
  float contributors() const { return static_cast<float>(ranks - static_cast<int>(servers.size())); }
};

/// Calls check(shape, graphs) for 2 to 16 ranks, of which 1, 2 or all but one serve and contribute nothing.
template <class Check>
void for_every_dedicated(bool coded_terms, bool votes, Check check) {
  std::uint64_t shape_seed = seed();
  for (int ranks = 2; ranks <= kMostRanks; ++ranks) {
    for (const int count : std::set<int>{1, std::min(2, ranks - 1), ranks - 1}) {
      for (const Nodes nodes : {Nodes::kOne, Nodes::kOfFour}) {
        const std::vector<Rank> servers = server_ranks(topology_of(nodes, ranks).node_of, ranks, count);
        for (const int partitions : {1, 5}) {
          for (const Elements elements : {Elements{0}, static_cast<Elements>(ranks - 1), Elements{1023}}) {
            CAPTURE(ranks, count, nodes, partitions, elements, coded_terms, seed());
            const Case which{StrategyKind::kPs, nodes, coded_terms, votes, {count, true}};
            check(Shape{which, ranks, elements, servers, ++shape_seed}, graphs_of(which, ranks, partitions, elements));
          }
        }
      }
    }
  }
}

/// Gradients of ranks that contribute; the servers' are not numbers.
std::vector<std::vector<float>> gradients_of(const Shape& shape, std::mt19937_64& random) {
  auto gradients = random_gradients(shape.ranks, shape.elements, random);
  for (const Rank server : shape.servers) {
    std::vector<float>& own = gradients[static_cast<std::size_t>(server)];
    std::fill(own.begin(), own.end(), std::nanf(""));
  }
  return gradients;
}

std::vector<float> sum_of_contributors(const Shape& shape, const std::vector<std::vector<float>>& gradients) {
  std::vector<float> sum(shape.elements);
  for (Rank rank = 0; rank < shape.ranks; ++rank) {
    if (!shape.contributes(rank)) continue;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += gradients[static_cast<std::size_t>(rank)][i];
  }
  return sum;
}

/// Elements that a rank sends to owners, and as an owner.
struct Sent {
  Elements contributed = 0, results = 0;
};

Sent sent_by(const TaskGraph& graph) {
  Sent sent;
  for (const Primitive& task : graph.tasks()) {
    const auto* send = std::get_if<Send>(&task);
    if (send == nullptr) continue;
    const Buffer& buffer = graph.buffers()[TaskGraph::index(send->from)];
    (buffer.hop == Hop::kSecond ? sent.results : sent.contributed) += buffer.slice.count;
  }
  return sent;
}

std::size_t merges_of(const TaskGraph& graph) {
  return static_cast<std::size_t>(std::count_if(graph.tasks().begin(), graph.tasks().end(), [](const Primitive& task) {
    return std::holds_alternative<Merge>(task);
  }));
}

}  // namespace

TEST_CASE("servers: only they merge, as many partitions each, and others send their gradient to them once") {
  constexpr Elements kPart = 64 * 1024;
  for (int ranks = 1; ranks <= kMostRanks; ++ranks) {
    for (const int count : std::set<int>{1, std::min(2, ranks), ranks}) {
      for (const bool dedicated : {false, true}) {
        if (dedicated && count == ranks) continue;
        const int partitions = 2 * count;
        const Elements elements = static_cast<Elements>(partitions) * kPart;
        const std::vector<TaskGraph> graphs =
            graphs_of({StrategyKind::kPs, Nodes::kOne, false, false, {count, dedicated}}, ranks, partitions, elements);
        for (Rank rank = 0; rank < ranks; ++rank) {
          const TaskGraph& graph = graphs[static_cast<std::size_t>(rank)];
          const bool serves = rank >= ranks - count;
          const Sent sent = sent_by(graph);
          CAPTURE(ranks, count, dedicated, rank);
          REQUIRE(merges_of(graph) == (serves ? 2u : 0u));
          REQUIRE(sent.contributed == (!serves ? elements : dedicated ? 0 : elements - 2 * kPart));
          REQUIRE(sent.results == (serves ? 2 * kPart * static_cast<Elements>(ranks - 1) : 0));
        }
      }
    }
  }
}

TEST_CASE("servers: the other ranks begin with different ones") {
  for (int ranks = 4; ranks <= kMostRanks; ++ranks) {
    for (const int count : {2, 3}) {
      const std::vector<TaskGraph> graphs =
          graphs_of({StrategyKind::kPs, Nodes::kOne, false, false, {count}}, ranks, count, 1'000);
      std::vector<int> first(static_cast<std::size_t>(ranks));
      for (Rank rank = 0; rank < ranks - count; ++rank) {
        for (const Primitive& task : graphs[static_cast<std::size_t>(rank)].tasks()) {
          if (const auto* send = std::get_if<Send>(&task)) {
            ++first[static_cast<std::size_t>(send->to)];
            break;
          }
        }
      }
      CAPTURE(ranks, count);
      const auto [least, most] = std::minmax_element(first.end() - count, first.end());
      CHECK(*most - *least <= 1);
      CHECK(std::accumulate(first.end() - count, first.end(), 0) == ranks - count);
    }
  }
}

TEST_CASE("dedicated servers: every graph is valid, every send has its recv, and servers encode nothing of their own") {
  for (const bool coded_terms : {false, true}) {
    for_every_dedicated(coded_terms, false, [](const Shape& shape, const std::vector<TaskGraph>& graphs) {
      for (Rank self = 0; self < shape.ranks; ++self) {
        const TaskGraph& graph = graphs[static_cast<std::size_t>(self)];
        REQUIRE(graph.validate(shape.elements, shape.ranks, self).text() == "OK");
        const bool encodes = std::any_of(graph.tasks().begin(), graph.tasks().end(),
                                         [](const Primitive& task) { return std::holds_alternative<Encode>(task); });
        REQUIRE(encodes == (shape.contributes(self) && shape.elements > 0));
      }
      REQUIRE(check_messages(graphs).text() == "OK");
    });
  }
}

TEST_CASE("dedicated servers: every rank ends with each other rank's contribution once, in whatever order tasks run") {
  const auto order = GENERATE(Order::kRandom, Order::kEarliest, Order::kLatest);
  const auto delivery = GENERATE(Delivery::kBuffered, Delivery::kRendezvous);
  for (const bool coded_terms : {false, true}) {
    for_every_dedicated(coded_terms, false, [&](const Shape& shape, const std::vector<TaskGraph>& graphs) {
      Contributions contributions(shape.ranks, shape.elements);
      REQUIRE(interpret(graphs, contributions, {order, delivery, shape.seed}).text() == "OK");
      REQUIRE(contributions.complete(shape.servers).text() == "OK");
    });
  }
}

TEST_CASE("dedicated servers: every rank ends with the average of those that contribute, whatever servers hold") {
  for (const bool coded_terms : {false, true}) {
    for_every_dedicated(coded_terms, false, [](const Shape& shape, const std::vector<TaskGraph>& graphs) {
      std::mt19937_64 random(shape.seed);
      const float scale = 1 / shape.contributors();
      Floats floats(gradients_of(shape, random), 0, 0, scale);
      std::vector<float> average = sum_of_contributors(shape, floats.gradients());
      for (float& value : average) value *= scale;
      REQUIRE(interpret(graphs, floats, {.seed = shape.seed}).text() == "OK");
      REQUIRE(floats.gradients()[0] == average);
      REQUIRE(all_equal(floats.gradients()));
    });
  }
}

TEST_CASE("dedicated servers: with lossy codecs nothing is lost over the steps, on no hop") {
  for_every_dedicated(false, false, [](const Shape& shape, const std::vector<TaskGraph>& graphs) {
    std::mt19937_64 random(shape.seed);
    Floats floats(gradients_of(shape, random), 16, 64, 1);
    std::vector<float> left(shape.elements);  // given, less what was applied
    for (std::uint64_t step = 0; step < 2; ++step) {
      floats.gradients() = gradients_of(shape, random);
      const std::vector<float> given = sum_of_contributors(shape, floats.gradients());
      REQUIRE(interpret(graphs, floats, {.seed = shape.seed + step}).text() == "OK");
      REQUIRE(all_equal(floats.gradients()));
      for (std::size_t i = 0; i < left.size(); ++i) left[i] += given[i] - floats.gradients()[0][i];
    }
    for (const std::vector<float>& residual : floats.residuals()) {
      for (std::size_t i = 0; i < left.size(); ++i) left[i] -= residual[i];
    }
    REQUIRE(left == std::vector<float>(shape.elements));
  });
}

TEST_CASE("dedicated servers: a vote counts each rank that contributes, and no server") {
  for_every_dedicated(true, true, [](const Shape& shape, const std::vector<TaskGraph>& graphs) {
    std::vector<std::vector<float>> gradients;
    for (Rank rank = 0; rank < shape.ranks; ++rank) {
      gradients.emplace_back(shape.elements, shape.contributes(rank) ? -1e-3F : 100.0F);
    }
    Votes votes(gradients);
    REQUIRE(interpret(graphs, votes, {Order::kRandom, Delivery::kBuffered, shape.seed}).text() == "OK");
    for (const std::vector<float>& result : votes.gradients()) {
      REQUIRE(result == std::vector<float>(shape.elements, -1.0F));
    }
  });
}

}  // namespace casync::test
