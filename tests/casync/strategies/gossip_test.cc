// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <set>

#include "casync/patterns/pairs.h"
#include "casync/strategies/gossip.h"
#include "tests/casync/strategies/strategy_cases.h"
#include "tests/support/interpreter.h"
#include "tests/support/meanings.h"

namespace casync::test {
namespace {

std::vector<float> floats_of(const Code& code) {
  std::vector<float> values(code.size() / sizeof(float));
  std::memcpy(values.data(), code.data(), code.size());
  return values;
}

Code code_of(const std::vector<float>& values) {
  Code code(values.size() * sizeof(float));
  std::memcpy(code.data(), values.data(), code.size());
  return code;
}

/// Uncompressed elements, and a merge that averages its own contributions.
class Averages final : public Meaning {
 public:
  explicit Averages(std::vector<std::vector<float>> of_ranks) : of_ranks_(std::move(of_ranks)) {}
  Code encode(Rank rank, const Slice& from, Hop) override { return code_of(own(rank, from)); }
  Code merge(Rank rank, const Merge& merge, std::span<const Code* const> codes, Hop) override {
    std::vector<float> sum(merge.local.count);
    for (const Code* const code : codes) {
      const std::vector<float> part = code != nullptr ? floats_of(*code) : own(rank, merge.local);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
    }
    for (float& value : sum) value /= static_cast<float>(codes.size());
    return code_of(sum);
  }
  void decode(Rank rank, const Code& code, const Slice& to, Hop) override {
    const std::vector<float> values = floats_of(code);
    std::copy(values.begin(), values.end(),
              of_ranks_[static_cast<std::size_t>(rank)].begin() + static_cast<std::ptrdiff_t>(to.first));
  }
  const std::vector<std::vector<float>>& of_ranks() const { return of_ranks_; }

 private:
  std::vector<float> own(Rank rank, const Slice& slice) const {
    const float* const first = of_ranks_[static_cast<std::size_t>(rank)].data() + slice.first;
    return {first, first + slice.count};
  }

  std::vector<std::vector<float>> of_ranks_;
};

/// Row i: the weights of all ranks in the result of rank i. A ring's or that of a round of pairs.
using Weights = std::vector<std::vector<double>>;

Weights weights_of(int ranks, int round) {
  const auto n = static_cast<std::size_t>(ranks);
  Weights weights(n, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i) {
    std::set<std::size_t> members = {i, (i + 1) % n, (i + n - 1) % n};
    if (round >= 0) members = {i, static_cast<std::size_t>(pairs::partner(static_cast<Rank>(i), round, ranks))};
    for (const std::size_t j : members) weights[i][j] = 1.0 / static_cast<double>(members.size());
  }
  return weights;
}

std::vector<TaskGraph> gossip_graphs(int ranks, int round, std::size_t partitions, Elements elements) {
  std::vector<TaskGraph> graphs;
  for (Rank self = 0; self < ranks; ++self) {
    std::vector<Rank> neighbours = ring_neighbours(self, ranks);
    if (round >= 0) neighbours = {pairs::partner(self, round, ranks)};
    std::erase(neighbours, self);
    graphs.push_back(
        gossip_graph({.elements = elements, .partitions = partitions, .ranks = ranks, .self = self}, neighbours));
  }
  return graphs;
}

template <class Check>
void for_every_shape(Check check) {
  for (int ranks = 1; ranks <= kMostRanks; ++ranks) {
    for (int round = -1; round < pairs::rounds(ranks); ++round) {
      for (const std::size_t partitions : {1u, 2u, 5u}) {
        for (const Elements elements : {Elements{0}, Elements{1}, Elements{1023}}) {
          CAPTURE(ranks, round, partitions, elements);
          check(ranks, round, partitions, elements);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("pairs: the rounds of a tournament let every two ranks meet once, and of an odd number each sits out once") {
  for (int ranks = 1; ranks <= 33; ++ranks) {
    std::multiset<std::pair<Rank, Rank>> met;
    for (int round = 0; round < pairs::rounds(ranks); ++round) {
      for (Rank rank = 0; rank < ranks; ++rank) {
        const Rank other = pairs::partner(rank, round, ranks);
        CAPTURE(ranks, round, rank, other);
        REQUIRE((other >= 0 && other < ranks));
        REQUIRE(pairs::partner(other, round, ranks) == rank);
        if (other >= rank) met.insert({rank, other});
      }
    }
    CAPTURE(ranks);
    for (Rank a = 0; a < ranks; ++a) {
      REQUIRE(met.count({a, a}) == (ranks % 2 == 0 ? 0u : 1u));
      for (Rank b = a + 1; b < ranks; ++b) REQUIRE(met.count({a, b}) == 1);
    }
  }
}

TEST_CASE("pairs: each round is drawn equally often, and another seed draws others") {
  constexpr int kRanks = 8, kDraws = 7000;
  std::vector<int> drawn(7);
  int alike = 0;
  for (std::uint32_t step = 0; step < kDraws; ++step) {
    const int round = pairs::round_of(3, step, kRanks);
    ++drawn.at(static_cast<std::size_t>(round));
    alike += round == pairs::round_of(4, step, kRanks) ? 1 : 0;
  }
  const double deviation = std::sqrt(kDraws * (1.0 / 7) * (6.0 / 7));
  for (const int count : drawn) CHECK(std::abs(count - kDraws / 7) < 5 * deviation);
  CHECK(std::abs(alike - kDraws / 7) < 5 * deviation);
}

// A round of pairs is a projection, so the mean over rounds of |Wx - mean|^2 is x' E[W] x: for an even number of ranks
// (N - 2) / (2 (N - 1)) of |x - mean|^2, for an odd one half of it.
TEST_CASE("pairs: the squared distance from the mean shrinks in a round by what the expected weights say") {
  for (const int ranks : {2, 3, 5, 8, 16}) {
    const auto n = static_cast<std::size_t>(ranks);
    std::mt19937_64 random(7);
    std::vector<double> x(n);
    double mean = 0, before = 0, after = 0;
    for (double& value : x) value = std::normal_distribution<double>()(random);
    for (const double value : x) mean += value / ranks;
    for (const double value : x) before += (value - mean) * (value - mean);
    constexpr std::uint32_t kDraws = 20000;
    for (std::uint32_t step = 0; step < kDraws; ++step) {
      const int round = pairs::round_of(1, step, ranks);
      for (std::size_t i = 0; i < n; ++i) {
        const auto j = static_cast<std::size_t>(pairs::partner(static_cast<Rank>(i), round, ranks));
        after += std::pow((x[i] + x[j]) / 2 - mean, 2) / kDraws;
      }
    }
    const double wanted = ranks % 2 == 1 ? 0.5 : (ranks - 2.0) / (2.0 * (ranks - 1));
    CAPTURE(ranks, after / before, wanted);
    CHECK(std::abs(after / before - wanted) < 0.02);
  }
}

TEST_CASE("gossip: weights are symmetric, and those of every rank sum up to one") {
  for_every_shape([](int ranks, int round, std::size_t, Elements) {
    const Weights weights = weights_of(ranks, round);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < weights.size(); ++j) {
        REQUIRE(weights[i][j] == weights[j][i]);
        sum += weights[i][j];
      }
      REQUIRE(std::abs(sum - 1) < 1e-12);
    }
  });
}

TEST_CASE("gossip: every graph is valid, every send has its recv, and each rank talks to its neighbours only") {
  for_every_shape([](int ranks, int round, std::size_t partitions, Elements elements) {
    const std::vector<TaskGraph> graphs = gossip_graphs(ranks, round, partitions, elements);
    const Weights weights = weights_of(ranks, round);
    for (Rank self = 0; self < ranks; ++self) {
      const TaskGraph& graph = graphs[static_cast<std::size_t>(self)];
      REQUIRE(graph.validate(elements, ranks, self).text() == "OK");
      for (const Primitive& task : graph.tasks()) {
        const auto* const send = std::get_if<Send>(&task);
        if (send != nullptr) REQUIRE(weights[static_cast<std::size_t>(self)][static_cast<std::size_t>(send->to)] > 0);
      }
    }
    REQUIRE(check_messages(graphs).text() == "OK");
  });
}

TEST_CASE(
    "gossip: each rank ends with the weighted mean of its neighbourhood, in any order, and the mean of all stays") {
  std::mt19937_64 random(seed());
  CAPTURE(seed());
  for_every_shape([&](int ranks, int round, std::size_t partitions, Elements elements) {
    const auto before = random_gradients(ranks, elements, random);
    const Weights weights = weights_of(ranks, round);
    for (const Delivery delivery : {Delivery::kBuffered, Delivery::kRendezvous}) {
      Averages averages(before);
      const Schedule schedule{Order::kRandom, delivery, random()};
      REQUIRE(interpret(gossip_graphs(ranks, round, partitions, elements), averages, schedule).text() == "OK");
      for (Elements e = 0; e < elements; ++e) {
        double sum_before = 0, sum_after = 0;
        for (std::size_t i = 0; i < before.size(); ++i) {
          double wanted = 0;
          for (std::size_t j = 0; j < before.size(); ++j) wanted += weights[i][j] * before[j][e];
          REQUIRE(std::abs(averages.of_ranks()[i][e] - wanted) < 1e-4);
          sum_before += before[i][e];
          sum_after += averages.of_ranks()[i][e];
        }
        REQUIRE(std::abs(sum_before - sum_after) < 1e-3);
      }
    }
  });
}

TEST_CASE("gossip of differences: every rank ends with the elements of each neighbour in the place of that one") {
  std::mt19937_64 random(seed());
  CAPTURE(seed());
  for (int ranks = 1; ranks <= kMostRanks; ++ranks) {
    for (const std::size_t partitions : {1u, 2u, 5u}) {
      for (const Elements elements : {Elements{0}, Elements{1}, Elements{1023}}) {
        CAPTURE(ranks, partitions, elements);
        std::vector<TaskGraph> graphs;
        std::vector<std::vector<float>> memory, wanted;
        const auto own = random_gradients(ranks, elements, random);
        for (Rank self = 0; self < ranks; ++self) {
          const std::vector<Rank> neighbours = ring_neighbours(self, ranks);
          graphs.push_back(difference_gossip_graph(
              {.elements = elements, .partitions = partitions, .ranks = ranks, .self = self}, neighbours));
          std::set<Rank> members(neighbours.begin(), neighbours.end());
          members.insert(self);
          wanted.emplace_back();
          memory.emplace_back();
          for (const Rank member : members) {
            const std::vector<float>& of_member = own[static_cast<std::size_t>(member)];
            wanted.back().insert(wanted.back().end(), of_member.begin(), of_member.end());
            memory.back().insert(memory.back().end(), of_member.begin(), of_member.end());
            if (member != self)
              std::fill_n(memory.back().end() - static_cast<std::ptrdiff_t>(elements), elements, -7.f);
          }
          REQUIRE(graphs.back().validate(elements * members.size(), ranks, self).text() == "OK");
        }
        // Messages are matched by the interpreter: the same elements have another place on each rank.
        for (const Delivery delivery : {Delivery::kBuffered, Delivery::kRendezvous}) {
          Averages copies(memory);  // which has nothing to average here
          REQUIRE(interpret(graphs, copies, {Order::kRandom, delivery, random()}).text() == "OK");
          REQUIRE(copies.of_ranks() == wanted);
        }
      }
    }
  }
}

}  // namespace casync::test
