// SPDX-License-Identifier: Apache-2.0
#include "casync/strategies/graphs.h"

#include "casync/patterns/star.h"

namespace casync {
namespace {

using Contributions = std::vector<std::optional<BufferId>>;

/// The entries of ranks that contribute, of one entry for each rank.
Contributions of_contributors(const Exchange& exchange, const Contributions& by_rank) {
  Contributions kept;
  for (Rank rank = 0; rank < exchange.ranks; ++rank) {
    if (exchange.contributes(rank)) kept.push_back(by_rank[static_cast<std::size_t>(rank)]);
  }
  return kept;
}

void add_owned(TaskGraph::Builder& graph, const Exchange& exchange, std::uint32_t partition, const Slice& slice) {
  // Rank order, whatever the order of arrival: the sum is then the same bytes in every run.
  Contributions by_rank(static_cast<std::size_t>(exchange.ranks));
  for (int k = 0; k < star::spokes(exchange.ranks); ++k) {
    const Rank peer = star::spoke(exchange.self, k, exchange.ranks);
    if (!exchange.contributes(peer)) continue;
    const BufferId theirs = graph.buffer({slice, Hop::kFirst, partition});
    graph.add(Recv{peer, theirs, {partition, star::kToHub}});
    by_rank[static_cast<std::size_t>(peer)] = theirs;
  }
  if (exchange.coded_terms && exchange.contributes(exchange.self)) {
    const BufferId mine = graph.buffer({slice, Hop::kFirst, partition});
    graph.add(Encode{slice, mine});
    by_rank[static_cast<std::size_t>(exchange.self)] = mine;
  }
  const BufferId merged = graph.buffer({slice, Hop::kSecond, partition});
  graph.add(Merge{.contributions = of_contributors(exchange, by_rank), .local = slice, .to = merged, .last = true});
  for (int k = 0; k < star::spokes(exchange.ranks); ++k) {
    graph.add(Send{star::spoke(exchange.self, k, exchange.ranks), merged, {partition, star::kFromHub}});
  }
  graph.add(Decode{merged, slice});
}

void add_served(TaskGraph::Builder& graph, Rank owner, std::uint32_t partition, const Slice& slice) {
  const BufferId mine = graph.buffer({slice, Hop::kFirst, partition});
  const BufferId merged = graph.buffer({slice, Hop::kSecond, partition});
  graph.add(Encode{slice, mine});
  const TaskId sent = graph.add(Send{owner, mine, {partition, star::kToHub}});
  graph.add(Recv{owner, merged, {partition, star::kFromHub}});
  // The code of an identity codec lies in the gradient's own memory, which may change when the send is over.
  graph.after(sent, graph.add(Decode{merged, slice}));
}

/// A rank that neither owns the partition nor contributes to it.
void add_told(TaskGraph::Builder& graph, Rank owner, std::uint32_t partition, const Slice& slice) {
  const BufferId merged = graph.buffer({slice, Hop::kSecond, partition});
  graph.add(Recv{owner, merged, {partition, star::kFromHub}});
  graph.add(Decode{merged, slice});
}

}  // namespace

/// Parameter server, every rank serving the partitions it owns, or `servers` all of them, in two hops: the others send
/// their encoded partition to its owner; the owner merges all in rank order, encodes once and sends that to the others;
/// all decode what was sent, the owner too. Dedicated servers contribute to no partition, and decode all.
TaskGraph ps_graph(const Exchange& exchange) {
  TaskGraph::Builder graph;
  for (std::size_t k = 0; k < exchange.partitions; ++k) {
    const std::size_t p =
        star::kth_partition(k, exchange.partitions, exchange.place(), exchange.first_owner, exchange.owners());
    const Slice slice = partition_slice(exchange.elements, exchange.partitions, p);
    if (slice.count == 0) continue;
    const auto partition = static_cast<std::uint32_t>(p);
    const Rank owner = exchange.owner(p);
    if (owner == exchange.self) {
      add_owned(graph, exchange, partition, slice);
    } else if (!exchange.contributes(exchange.self)) {
      add_told(graph, owner, partition, slice);
    } else {
      add_served(graph, owner, partition, slice);
    }
  }
  return std::move(graph).build();
}

}  // namespace casync
