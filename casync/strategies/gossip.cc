// SPDX-License-Identifier: Apache-2.0
#include "casync/strategies/gossip.h"

#include <algorithm>
#include <optional>

#include "casync/patterns/ring.h"

namespace casync {
namespace {

constexpr std::uint32_t kToNeighbours = 0;

void add_sums(TaskGraph::Builder& graph, const Exchange& exchange, std::span<const Rank> neighbours,
              std::uint32_t partition, const Slice& slice) {
  std::vector<TaskId> sent;
  if (!neighbours.empty()) {
    const BufferId mine = graph.buffer({slice, Hop::kFirst, partition});
    graph.add(Encode{slice, mine});
    for (const Rank peer : neighbours) sent.push_back(graph.add(Send{peer, mine, {partition, kToNeighbours}}));
  }
  // Rank order, the own elements included: neighbours that have the same two contributions end with the same bytes.
  std::vector<std::optional<BufferId>> contributions;
  bool has_own = false;
  for (const Rank peer : neighbours) {
    if (peer > exchange.self && !has_own) {
      contributions.emplace_back(std::nullopt);
      has_own = true;
    }
    const BufferId theirs = graph.buffer({slice, Hop::kFirst, partition});
    graph.add(Recv{peer, theirs, {partition, kToNeighbours}});
    contributions.emplace_back(theirs);
  }
  if (!has_own) contributions.emplace_back(std::nullopt);
  const BufferId merged = graph.buffer({slice, Hop::kSum, partition});
  const TaskId merge =
      graph.add(Merge{.contributions = std::move(contributions), .local = slice, .to = merged, .last = true});
  // The sum takes the gradient's own memory, where the code of an identity codec lies.
  for (const TaskId one : sent) graph.after(one, merge);
  graph.add(Decode{merged, slice});
}

void add_differences(TaskGraph::Builder& graph, const Exchange& exchange, std::span<const Rank> neighbours,
                     std::uint32_t partition, const Slice& slice) {
  const std::size_t own = place_among(exchange.self, neighbours);
  const auto at = [&](std::size_t place) { return Slice{place * exchange.elements + slice.first, slice.count}; };
  const BufferId mine = graph.buffer({at(own), Hop::kFirst, partition});
  graph.add(Encode{at(own), mine});
  const TaskId decode = graph.add(Decode{mine, at(own)});
  // An identity codec's code lies in the memory that is decoded to.
  for (const Rank peer : neighbours) graph.after(graph.add(Send{peer, mine, {partition, kToNeighbours}}), decode);
  for (std::size_t i = 0; i < neighbours.size(); ++i) {
    const Slice theirs = at(i < own ? i : i + 1);
    const BufferId code = graph.buffer({theirs, Hop::kFirst, partition});
    graph.add(Recv{neighbours[i], code, {partition, kToNeighbours}});
    graph.add(Decode{code, theirs});
  }
}

/// A graph with what `add` gives each partition that has elements.
template <typename Add>
TaskGraph graph_of(const Exchange& exchange, std::span<const Rank> neighbours, const Add& add) {
  TaskGraph::Builder graph;
  for (std::size_t p = 0; p < exchange.partitions; ++p) {
    const Slice slice = partition_slice(exchange.elements, exchange.partitions, p);
    if (slice.count > 0) add(graph, exchange, neighbours, static_cast<std::uint32_t>(p), slice);
  }
  return std::move(graph).build();
}

}  // namespace

std::size_t place_among(Rank self, std::span<const Rank> neighbours) {
  return static_cast<std::size_t>(std::lower_bound(neighbours.begin(), neighbours.end(), self) - neighbours.begin());
}

std::vector<Rank> ring_neighbours(Rank self, int ranks) {
  std::vector<Rank> neighbours = {ring::predecessor(self, ranks), ring::successor(self, ranks)};
  std::sort(neighbours.begin(), neighbours.end());
  neighbours.erase(std::unique(neighbours.begin(), neighbours.end()), neighbours.end());
  std::erase(neighbours, self);
  return neighbours;
}

TaskGraph gossip_graph(const Exchange& exchange, std::span<const Rank> neighbours) {
  return graph_of(exchange, neighbours, &add_sums);
}

TaskGraph difference_gossip_graph(const Exchange& exchange, std::span<const Rank> neighbours) {
  return graph_of(exchange, neighbours, &add_differences);
}

}  // namespace casync
