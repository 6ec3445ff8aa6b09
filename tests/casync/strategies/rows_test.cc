// SPDX-License-Identifier: Apache-2.0
//
// The rows of the table of strategies say what their graphs do.
#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "casync/graph/access.h"
#include "casync/graph/graph_text.h"
#include "tests/casync/strategies/strategy_cases.h"

namespace casync::test {
namespace {

constexpr Elements kElements = 640;

/// The graphs of all ranks for one gradient of one partition.
std::vector<TaskGraph> graphs_for(const Strategy& strategy, Nodes nodes, int ranks, bool coded_terms = false) {
  return graphs_of({strategy.kind, nodes, coded_terms}, ranks, 1, kElements);
}

template <class Holds>
bool any_task(const std::vector<TaskGraph>& graphs, const Holds& holds) {
  return std::any_of(graphs.begin(), graphs.end(), [&](const TaskGraph& graph) {
    return std::any_of(graph.tasks().begin(), graph.tasks().end(),
                       [&](const Primitive& task) { return holds(graph, task); });
  });
}

std::string text_of(const std::vector<TaskGraph>& graphs) {
  std::string text;
  for (const TaskGraph& graph : graphs) text += graph_text(graph);
  return text;
}

const Primitive& writer_of(const TaskGraph& graph, BufferId buffer) {
  return *std::find_if(graph.tasks().begin(), graph.tasks().end(),
                       [&](const Primitive& task) { return written_buffer(task) == buffer; });
}

/// The number of ranks whose elements are in a buffer of this rank.
int contributions(const std::vector<TaskGraph>& graphs, Rank rank, BufferId buffer) {
  const Primitive& task = writer_of(graphs[static_cast<std::size_t>(rank)], buffer);
  if (const auto* merge = std::get_if<Merge>(&task)) {
    int sum = 0;
    for (const std::optional<BufferId>& part : merge->contributions) {
      sum += part ? contributions(graphs, rank, *part) : 1;
    }
    return sum;
  }
  const auto* recv = std::get_if<Recv>(&task);
  if (recv == nullptr) return 1;
  for (const Primitive& sent : graphs[static_cast<std::size_t>(recv->from)].tasks()) {
    const auto* send = std::get_if<Send>(&sent);
    if (send != nullptr && send->to == rank && send->id == recv->id) {
      return contributions(graphs, recv->from, send->from);
    }
  }
  return 0;
}

/// The mean number of encodings of a rank's elements until all are merged.
double counted_encodings(const std::vector<TaskGraph>& graphs) {
  double sum = 0;
  for (std::size_t rank = 0; rank < graphs.size(); ++rank) {
    for (const Primitive& task : graphs[rank].tasks()) {
      const auto* merge = std::get_if<Merge>(&task);
      const std::optional<BufferId> to = written_buffer(task);
      if (!to || std::holds_alternative<Recv>(task) || (merge != nullptr && merge->last)) continue;
      if (graphs[rank].buffers()[TaskGraph::index(*to)].hop != Hop::kFirst) continue;
      sum += contributions(graphs, static_cast<Rank>(rank), *to);
    }
  }
  return sum / static_cast<double>(graphs.size());
}

}  // namespace

TEST_CASE("rows of strategies: elements are encoded as often on their way as `encodings` says") {
  for (const Strategy& strategy : strategies()) {
    for (int ranks = 1; ranks <= kMostRanks; ++ranks) {
      CAPTURE(strategy.name, ranks);
      const double counted = counted_encodings(graphs_for(strategy, Nodes::kOfFour, ranks));
      CHECK(encodings_on_the_way(strategy.kind, ranks, {}) == Approx(std::max(1.0, counted)));
    }
  }
}

TEST_CASE("rows of strategies: ranks send others' coded terms on if it `relays`") {
  for (const Strategy& strategy : strategies()) {
    CAPTURE(strategy.name);
    const bool relays =
        any_task(graphs_for(strategy, Nodes::kOfFour, 8, true), [](const TaskGraph& graph, const Primitive& task) {
          const auto* send = std::get_if<Send>(&task);
          return send != nullptr && graph.buffers()[TaskGraph::index(send->from)].hop == Hop::kFirst &&
                 std::holds_alternative<Recv>(writer_of(graph, send->from));
        });
    CHECK(strategy.relays == relays);
  }
}

TEST_CASE("rows of strategies: graphs follow the nodes if it has `levels`") {
  for (const Strategy& strategy : strategies()) {
    CAPTURE(strategy.name);
    const bool same = text_of(graphs_for(strategy, Nodes::kOne, 8)) == text_of(graphs_for(strategy, Nodes::kOfFour, 8));
    CHECK(strategy.levels == !same);
  }
}

TEST_CASE("rows of strategies: the result has a codec of its own if there is a `second_hop`") {
  for (const Strategy& strategy : strategies()) {
    CAPTURE(strategy.name);
    const bool second =
        any_task(graphs_for(strategy, Nodes::kOfFour, 8), [](const TaskGraph& graph, const Primitive& task) {
          const auto* send = std::get_if<Send>(&task);
          return send != nullptr && graph.buffers()[TaskGraph::index(send->from)].hop == Hop::kSecond;
        });
    CHECK(strategy.second_hop == second);
  }
}

}  // namespace casync::test
