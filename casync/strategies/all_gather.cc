// SPDX-License-Identifier: Apache-2.0
#include "casync/strategies/graphs.h"

#include "casync/patterns/star.h"

namespace casync {
namespace {

constexpr std::uint32_t kOnlyHop = 0;

void add_partition(TaskGraph::Builder& graph, const Exchange& exchange, std::uint32_t partition, const Slice& slice) {
  // This rank's code, and not its elements, is what all others merge: it merges the same, in the same order.
  std::vector<std::optional<BufferId>> contributions(static_cast<std::size_t>(exchange.ranks));
  const BufferId mine = graph.buffer({slice, Hop::kFirst, partition});
  graph.add(Encode{slice, mine});
  contributions[static_cast<std::size_t>(exchange.self)] = mine;
  std::vector<TaskId> sent;
  sent.reserve(static_cast<std::size_t>(star::spokes(exchange.ranks)));
  for (int k = 0; k < star::spokes(exchange.ranks); ++k) {
    sent.push_back(graph.add(Send{star::spoke(exchange.self, k, exchange.ranks), mine, {partition, kOnlyHop}}));
  }
  for (int k = 0; k < star::spokes(exchange.ranks); ++k) {
    const Rank peer = star::spoke(exchange.self, k, exchange.ranks);
    const BufferId theirs = graph.buffer({slice, Hop::kFirst, partition});
    graph.add(Recv{peer, theirs, {partition, kOnlyHop}});
    contributions[static_cast<std::size_t>(peer)] = theirs;
  }
  const BufferId merged = graph.buffer({slice, exchange.votes ? Hop::kSecond : Hop::kSum, partition});
  const TaskId merge =
      graph.add(Merge{.contributions = std::move(contributions), .local = slice, .to = merged, .last = true});
  // A sum takes the gradient's own memory, where the code of an identity codec lies.
  for (TaskId one : sent) graph.after(one, merge);
  graph.add(Decode{merged, slice});
}

}  // namespace

/// All-gather: every rank encodes its contribution once and sends it to every other rank; each merges all of them
/// in rank order, its own code among them, and keeps the sum. One message after the other, and no second hop. Votes are
/// counted by every rank: all make the same code of the same codes, and decode it.
TaskGraph all_gather_graph(const Exchange& exchange) {
  TaskGraph::Builder graph;
  for (std::size_t p = 0; p < exchange.partitions; ++p) {
    const Slice slice = partition_slice(exchange.elements, exchange.partitions, p);
    if (slice.count > 0) add_partition(graph, exchange, static_cast<std::uint32_t>(p), slice);
  }
  return std::move(graph).build();
}

}  // namespace casync
