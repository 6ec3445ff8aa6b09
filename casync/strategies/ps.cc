// SPDX-License-Identifier: Apache-2.0
#include "casync/strategies/ps.h"

#include "casync/patterns/star.h"

namespace casync {
namespace {

void add_owned(TaskGraph::Builder& graph, const Exchange& exchange, std::uint32_t partition, const Slice& slice) {
  // Rank order, whatever the order of arrival: the sum is then the same bytes in every run.
  std::vector<std::optional<BufferId>> contributions(static_cast<std::size_t>(exchange.ranks));
  for (int k = 0; k < star::spokes(exchange.ranks); ++k) {
    const Rank peer = star::spoke(exchange.self, k, exchange.ranks);
    const BufferId theirs = graph.buffer({slice, Hop::kFirst, partition});
    graph.add(Recv{peer, theirs, {partition, star::kToHub}});
    contributions[static_cast<std::size_t>(peer)] = theirs;
  }
  if (exchange.coded_terms) {
    const BufferId mine = graph.buffer({slice, Hop::kFirst, partition});
    graph.add(Encode{slice, mine});
    contributions[static_cast<std::size_t>(exchange.self)] = mine;
  }
  const BufferId merged = graph.buffer({slice, Hop::kSecond, partition});
  graph.add(Merge{.contributions = std::move(contributions), .local = slice, .to = merged, .last = true});
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

}  // namespace

TaskGraph ps_graph(const Exchange& exchange) {
  TaskGraph::Builder graph;
  for (std::size_t k = 0; k < exchange.partitions; ++k) {
    const std::size_t p =
        star::kth_partition(k, exchange.partitions, exchange.self, exchange.first_owner, exchange.ranks);
    const Slice slice = partition_slice(exchange.elements, exchange.partitions, p);
    if (slice.count == 0) continue;
    const auto partition = static_cast<std::uint32_t>(p);
    const Rank owner = exchange.owner(p);
    if (owner == exchange.self) {
      add_owned(graph, exchange, partition, slice);
    } else {
      add_served(graph, owner, partition, slice);
    }
  }
  return std::move(graph).build();
}

}  // namespace casync
