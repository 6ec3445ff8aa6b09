// SPDX-License-Identifier: Apache-2.0
#include "casync/strategies/copies.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "casync/strategies/reduce_scatter.h"
#include "tests/casync/strategies/strategy_cases.h"
#include "tests/support/interpreter.h"
#include "tests/support/meanings.h"

namespace casync::test {
namespace {

using Vectors = std::vector<std::vector<float>>;

/// As many elements of a rank as it sends.
Elements sent_by(const TaskGraph& graph) {
  Elements sent = 0;
  for (const Primitive& task : graph.tasks()) {
    if (const auto* send = std::get_if<Send>(&task)) sent += graph.buffers()[TaskGraph::index(send->from)].slice.count;
  }
  return sent;
}

template <class Graph>
std::vector<TaskGraph> graphs_of(Exchange exchange, Graph graph) {
  std::vector<TaskGraph> graphs;
  for (exchange.self = 0; exchange.self < exchange.ranks; ++exchange.self) graphs.push_back(graph(exchange));
  return graphs;
}

/// In whatever order tasks run, each rank ends with `wanted`.
void check_copies(const std::vector<TaskGraph>& graphs, const Vectors& given, const std::vector<float>& wanted) {
  const int ranks = static_cast<int>(graphs.size());
  for (Rank self = 0; self < ranks; ++self) {
    REQUIRE(graphs[static_cast<std::size_t>(self)].validate(wanted.size(), ranks, self).text() == "OK");
  }
  REQUIRE(check_messages(graphs).text() == "OK");
  for (const Order order : {Order::kRandom, Order::kEarliest, Order::kLatest}) {
    for (const Delivery delivery : {Delivery::kBuffered, Delivery::kRendezvous}) {
      Floats floats(given, 0, 0, 1);
      REQUIRE(interpret(graphs, floats, {order, delivery, seed()}).text() == "OK");
      REQUIRE(floats.gradients() == Vectors(given.size(), wanted));
    }
  }
}

}  // namespace

TEST_CASE("copies: a gather gives every rank the shards of all, each sent once to each other rank") {
  for (int ranks = 1; ranks <= 9; ++ranks) {
    for (const int of_each : {1, 2, 5}) {
      for (const Elements each : {0, 1, 3, 2100}) {
        const Elements elements = each * static_cast<Elements>(ranks);
        CAPTURE(ranks, of_each, elements);
        std::mt19937_64 random(seed());
        const Vectors given = random_gradients(ranks, elements, random);
        std::vector<float> wanted(elements);
        for (Rank rank = 0; rank < ranks; ++rank) {
          const Slice shard = shard_of(elements, ranks, rank);
          std::copy_n(given[static_cast<std::size_t>(rank)].data() + shard.first, shard.count,
                      wanted.data() + shard.first);
        }
        const auto graphs =
            graphs_of({.elements = elements, .partitions = static_cast<std::size_t>(ranks * of_each), .ranks = ranks},
                      &gather_graph);
        check_copies(graphs, given, wanted);
        for (const TaskGraph& graph : graphs) CHECK(sent_by(graph) == each * static_cast<Elements>(ranks - 1));
      }
    }
  }
}

TEST_CASE("copies: a broadcast gives every rank the root's elements, which leave the root once if they are many") {
  for (int ranks = 1; ranks <= 9; ++ranks) {
    for (const int partitions : {1, ranks, 2 * std::max(ranks - 1, 1)}) {
      for (const Elements elements : {0, 1, 3, 4099}) {
        for (const Rank root : {0, ranks / 2, ranks - 1}) {
          CAPTURE(ranks, partitions, elements, root);
          std::mt19937_64 random(seed());
          const Vectors given = random_gradients(ranks, elements, random);
          const auto graphs = graphs_of({.elements = elements,
                                         .partitions = static_cast<std::size_t>(partitions),
                                         .ranks = ranks,
                                         .first_owner = static_cast<std::size_t>(root)},
                                        &broadcast_graph);
          check_copies(graphs, given, given[static_cast<std::size_t>(root)]);
          const auto others = static_cast<Elements>(ranks - 1);
          const Elements from_root = partitions == 1 ? others * elements : std::min<Elements>(others, 1) * elements;
          CHECK(sent_by(graphs[static_cast<std::size_t>(root)]) == from_root);
        }
      }
    }
  }
}

TEST_CASE("copies: partitions of a shard, and those of a broadcast that ranks send on") {
  CHECK(gather_partitions(64_MiB * 3, 3) == 3);
  CHECK(gather_partitions(64_MiB * 3 + 12, 3) == 6);
  CHECK(gather_partitions(0, 3) == 3);
  CHECK(broadcast_partitions(0, 4) == 1);
  CHECK(broadcast_partitions(3 * 64_KiB - 4, 4) == 1);
  CHECK(broadcast_partitions(3 * 64_KiB, 4) == 3);
  CHECK(broadcast_partitions(6_MiB, 4) == 6);
  CHECK(broadcast_partitions(6_MiB + 4, 4) == 9);
  CHECK(broadcast_partitions(640_MiB, 4) == 24);
  CHECK(broadcast_partitions(64_MiB, 2) == 1);
  CHECK(broadcast_partitions(64_MiB + 4, 2) == 2);
}

}  // namespace casync::test
