// SPDX-License-Identifier: Apache-2.0
#include "casync/strategies/reduce_scatter.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <numeric>
#include <random>

#include "tests/casync/strategies/strategy_cases.h"
#include "tests/support/interpreter.h"
#include "tests/support/meanings.h"

namespace casync::test {
namespace {

std::vector<TaskGraph> scatter_graphs(int ranks, int partitions, Elements elements, bool coded_terms = false,
                                      bool votes = false) {
  std::vector<TaskGraph> graphs;
  for (Rank self = 0; self < ranks; ++self) {
    graphs.push_back(reduce_scatter_graph({.elements = elements,
                                           .partitions = static_cast<std::size_t>(shard_partitions(partitions, ranks)),
                                           .ranks = ranks,
                                           .self = self,
                                           .coded_terms = coded_terms,
                                           .votes = votes}));
  }
  return graphs;
}

// Calls check(graphs, ranks, elements, seed) for many shapes.
template <class Check>
void for_every_shape(bool coded_terms, bool votes, Check check) {
  std::uint64_t shape_seed = seed();
  for (int ranks = 1; ranks <= kMostRanks; ++ranks) {
    for (int partitions : {1, 2, 9, 40}) {
      for (const Elements each : {0, 1, 2, 17, ranks < 6 ? 2100 : 130}) {
        const Elements elements = each * static_cast<Elements>(ranks);
        CAPTURE(ranks, partitions, elements, coded_terms, votes, seed());
        check(scatter_graphs(ranks, partitions, elements, coded_terms, votes), ranks, elements, ++shape_seed);
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

// Each rank's gradient where only its own shard is the result.
std::vector<std::vector<float>> scattered(std::vector<std::vector<float>> gradients, const std::vector<float>& result) {
  const auto ranks = static_cast<int>(gradients.size());
  for (Rank rank = 0; rank < ranks; ++rank) {
    const Slice shard = shard_of(result.size(), ranks, rank);
    std::copy_n(result.data() + shard.first, shard.count,
                gradients[static_cast<std::size_t>(rank)].data() + shard.first);
  }
  return gradients;
}

/// A code says if all that is in it is finite. A rank is told by what it decodes.
class Verdicts final : public Meaning {
 public:
  Verdicts(int ranks, Rank rank, Elements element)
      : told_(static_cast<std::size_t>(ranks), true), rank_(rank), element_(element) {}
  Code encode(Rank rank, const Slice& from, Hop) override { return {std::byte{is_finite(rank, from)}}; }
  Code merge(Rank rank, const Merge& merge, std::span<const Code* const> codes, Hop) override {
    bool finite = true;
    for (const Code* const code : codes) {
      finite = finite && (code != nullptr ? (*code)[0] == std::byte{1} : is_finite(rank, merge.local));
    }
    return {std::byte{finite}};
  }
  void decode(Rank rank, const Code& code, const Slice&, Hop) override {
    if (code[0] == std::byte{0}) told_[static_cast<std::size_t>(rank)] = false;
  }
  const std::vector<bool>& told() const { return told_; }

 private:
  bool is_finite(Rank rank, const Slice& slice) const {
    return rank != rank_ || element_ < slice.first || element_ >= slice.first + slice.count;
  }

  std::vector<bool> told_;
  Rank rank_;
  Elements element_;
};

}  // namespace

TEST_CASE("reduce_scatter: shards are equal, in rank order, and their partitions cover them in order") {
  CHECK(check_shards(0, 3).is_ok());
  CHECK(check_shards(12, 3).is_ok());
  CHECK(check_shards(13, 1).is_ok());
  CHECK(check_shards(10, 4).message() == "10 elements are not 4 equal shards, one for each rank: pad them to 12");
  CHECK(shard_partitions(1, 4) == 4);
  CHECK(shard_partitions(4, 4) == 4);
  CHECK(shard_partitions(5, 4) == 8);
  for (const Elements each : {0, 1, 5, 4099}) {
    for (const int of_each : {1, 2, 7}) {
      Elements next = 0;
      for (Rank rank = 0; rank < 3; ++rank) {
        CHECK(shard_of(3 * each, 3, rank) == Slice{each * static_cast<Elements>(rank), each});
        for (int i = 0; i < of_each; ++i) {
          const auto index = static_cast<std::size_t>(rank * of_each + i);
          const Slice part = shard_partition(3 * each, 3, static_cast<std::size_t>(3 * of_each), index);
          CHECK(part.first == next);
          next += part.count;
        }
        CHECK(next == each * static_cast<Elements>(rank + 1));
      }
    }
  }
}

TEST_CASE("reduce_scatter: every graph is valid, every send has its recv, and no elements come back") {
  const bool coded_terms = GENERATE(false, true), votes = GENERATE(false, true);
  if (votes && !coded_terms) return;
  for_every_shape(coded_terms, votes, [](const auto& graphs, int ranks, Elements elements, std::uint64_t) {
    for (Rank self = 0; self < ranks; ++self) {
      const TaskGraph& graph = graphs[static_cast<std::size_t>(self)];
      const Slice shard = shard_of(elements, ranks, self);
      REQUIRE(graph.validate(elements, ranks, self, shard).text() == "OK");
      Elements sent = 0;
      for (const Primitive& task : graph.tasks()) {
        const auto* const send = std::get_if<Send>(&task);
        if (send != nullptr) sent += graph.buffers()[TaskGraph::index(send->from)].slice.count;
      }
      REQUIRE(sent == elements - shard.count);  // of an all-reduce by ps twice as many
    }
    REQUIRE(check_messages(graphs).text() == "OK");
  });
}

TEST_CASE("reduce_scatter: each rank's own shard is the average, and the others stay, in whatever order tasks run") {
  const bool coded_terms = GENERATE(false, true);
  for_every_shape(coded_terms, false, [](const auto& graphs, int ranks, Elements elements, std::uint64_t shape_seed) {
    std::mt19937_64 random(shape_seed);
    const auto gradients = random_gradients(ranks, elements, random);
    const float scale = 1.0F / static_cast<float>(ranks);
    std::vector<float> average = sum_of(gradients);
    for (float& value : average) value *= scale;
    const auto expected = scattered(gradients, average);
    for (const Order order : {Order::kRandom, Order::kEarliest, Order::kLatest}) {
      for (const Delivery delivery : {Delivery::kBuffered, Delivery::kRendezvous}) {
        CAPTURE(static_cast<int>(order), static_cast<int>(delivery));
        Floats floats(gradients, 0, 0, scale);
        REQUIRE(interpret(graphs, floats, {order, delivery, shape_seed}).text() == "OK");
        REQUIRE(floats.gradients() == expected);
      }
    }
  });
}

TEST_CASE("reduce_scatter: with a lossy codec nothing is lost over the steps, and sums are encoded on no hop") {
  const bool coded_terms = GENERATE(false, true);
  for_every_shape(coded_terms, false, [&](const auto& graphs, int ranks, Elements elements, std::uint64_t shape_seed) {
    std::mt19937_64 random(shape_seed);
    // A second hop would round to 2^20, that is, to 0.
    Floats floats(random_gradients(ranks, elements, random), 16, 1 << 20, 1);
    std::vector<float> given(elements), applied(elements);
    for (std::uint64_t step = 0; step < 2; ++step) {
      floats.gradients() = random_gradients(ranks, elements, random);
      given = sum_of({given, sum_of(floats.gradients())});
      REQUIRE(interpret(graphs, floats, {.seed = shape_seed + step}).text() == "OK");
      for (Rank rank = 0; rank < ranks; ++rank) {
        const Slice shard = shard_of(elements, ranks, rank);
        const float* const own = floats.gradients()[static_cast<std::size_t>(rank)].data();
        for (Elements e = shard.first; e < shard.first + shard.count; ++e) applied[e] += own[e];
      }
    }
    REQUIRE(sum_of({applied, sum_of(floats.residuals())}) == given);
    for (Rank rank = 0; rank < ranks && !coded_terms; ++rank) {
      const Slice shard = shard_of(elements, ranks, rank);
      const float* const residual = floats.residuals()[static_cast<std::size_t>(rank)].data() + shard.first;
      REQUIRE(std::all_of(residual, residual + shard.count, [](float r) { return r == 0; }));
    }
  });
}

TEST_CASE("reduce_scatter: a vote counts each rank once, and no rank's magnitude") {
  for_every_shape(true, true, [&](const auto& graphs, int ranks, Elements elements, std::uint64_t shape_seed) {
    std::vector<std::vector<float>> gradients(static_cast<std::size_t>(ranks), std::vector<float>(elements, -1e-3F));
    gradients[shape_seed % static_cast<std::uint64_t>(ranks)].assign(elements, 100.0F);
    Votes votes(gradients);
    REQUIRE(interpret(graphs, votes, {.seed = shape_seed}).text() == "OK");
    const std::vector<float> majority(elements, ranks > 2 ? -1.0F : 1.0F);
    REQUIRE(votes.gradients() == scattered(gradients, majority));
  });
}

TEST_CASE("reduce_scatter: all ranks learn alike that an element is not finite, wherever it is") {
  constexpr Elements kEach = 1030;  // two partitions of a shard
  for (const int ranks : {1, 2, 3, 5}) {
    const auto graphs = scatter_graphs(ranks, 2 * ranks, kEach * static_cast<Elements>(ranks));
    for (Rank rank = 0; rank < ranks; ++rank) {
      for (Elements element = 0; element < kEach * static_cast<Elements>(ranks); element += 515) {
        CAPTURE(ranks, rank, element);
        Verdicts verdicts(ranks, rank, element);
        REQUIRE(interpret(graphs, verdicts, {.seed = seed()}).text() == "OK");
        REQUIRE(verdicts.told() == std::vector<bool>(static_cast<std::size_t>(ranks), false));
      }
    }
    Verdicts finite(ranks, 0, kEach * static_cast<Elements>(ranks));
    REQUIRE(interpret(graphs, finite, {.seed = seed()}).text() == "OK");
    REQUIRE(finite.told() == std::vector<bool>(static_cast<std::size_t>(ranks), true));
  }
}

}  // namespace casync::test
