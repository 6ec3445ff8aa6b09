// SPDX-License-Identifier: Apache-2.0
#include "casync/strategies/asynchronous.h"

#include "casync/patterns/star.h"

namespace casync {
namespace {

/// Calls add(partition, slice) for each partition that has elements, in the order in which ps_graph() has them.
template <typename Add>
TaskGraph graph_of(const Exchange& exchange, const Add& add) {
  TaskGraph::Builder graph;
  for (std::size_t k = 0; k < exchange.partitions; ++k) {
    const std::size_t p =
        star::kth_partition(k, exchange.partitions, exchange.place(), exchange.first_owner, exchange.owners());
    const Slice slice = partition_slice(exchange.elements, exchange.partitions, p);
    if (slice.count > 0) add(graph, static_cast<std::uint32_t>(p), slice);
  }
  return std::move(graph).build();
}

}  // namespace

TaskGraph asynchronous_graph(const Exchange& exchange) {
  return graph_of(exchange, [&](TaskGraph::Builder& graph, std::uint32_t partition, const Slice& slice) {
    const Rank owner = exchange.owner(partition);
    const BufferId answer = graph.buffer({slice, Hop::kSecond, partition});
    graph.add(Recv{owner, answer, {partition, star::kFromHub}});
    const TaskId decoded = graph.add(Decode{answer, slice});
    if (owner == exchange.self || !exchange.contributes(exchange.self)) return;
    const BufferId mine = graph.buffer({slice, Hop::kFirst, partition});
    graph.add(Encode{slice, mine});
    // The code of an identity codec lies in the gradient's own memory, which may change when the send is over.
    graph.after(graph.add(Send{owner, mine, {partition, star::kToHub}}), decoded);
  });
}

TaskGraph owner_graph(const Exchange& exchange) {
  return graph_of(exchange, [&](TaskGraph::Builder& graph, std::uint32_t partition, const Slice& slice) {
    if (exchange.owner(partition) != exchange.self) return;
    for (int k = 0; k < star::spokes(exchange.ranks); ++k) {
      const Rank peer = star::spoke(exchange.self, k, exchange.ranks);
      if (exchange.contributes(peer)) {
        graph.add(Recv{peer, graph.buffer({slice, Hop::kFirst, partition}), {partition, star::kToHub}});
      }
      graph.add(Send{peer, graph.buffer({slice, Hop::kSecond, partition}), {partition, star::kFromHub}});
    }
  });
}

}  // namespace casync
