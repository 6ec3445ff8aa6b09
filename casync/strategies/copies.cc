// SPDX-License-Identifier: Apache-2.0
#include "casync/strategies/copies.h"

#include <algorithm>

#include "base/check.h"
#include "casync/patterns/star.h"
#include "casync/strategies/reduce_scatter.h"

namespace casync {
namespace {

constexpr std::uint32_t kCopied = 0, kSentOn = 1;

constexpr Bytes kMostDirect = 64_MiB;  // of a message that nobody sends on
// A rank sends a partition on when it has all of it, so that the last one takes its time twice.
constexpr int kSentOnByEach = 8;
constexpr Bytes kLeastPartition = 1_MiB;
constexpr Bytes kLeastSentOn = 64_KiB;  // below it a second hop costs more than the root's link

BufferId add_own(TaskGraph::Builder& graph, std::uint32_t partition, const Slice& slice) {
  const BufferId own = graph.buffer({slice, Hop::kSecond, partition});
  graph.add(Encode{slice, own});
  graph.add(Decode{own, slice});
  return own;
}

BufferId add_received(TaskGraph::Builder& graph, Rank from, MessageId id, const Slice& slice) {
  const BufferId theirs = graph.buffer({slice, Hop::kSecond, id.partition});
  graph.add(Recv{from, theirs, id});
  graph.add(Decode{theirs, slice});
  return theirs;
}

int count_of(Bytes bytes, Bytes each) { return static_cast<int>(std::min<Bytes>(ceil_div(bytes, each), 1024)); }

void add_broadcast(TaskGraph::Builder& graph, const Exchange& exchange, std::uint32_t partition, const Slice& slice) {
  const auto root = static_cast<Rank>(exchange.first_owner);
  const int others = star::spokes(exchange.ranks);
  const bool sent_on = exchange.partitions > 1 && others > 1;
  const Rank relay = sent_on ? star::spoke(root, static_cast<int>(partition) % others, exchange.ranks) : root;
  if (exchange.self == root) {
    const BufferId own = add_own(graph, partition, slice);
    if (sent_on) return static_cast<void>(graph.add(Send{relay, own, {partition, kCopied}}));
    for (int k = 0; k < others; ++k) {
      graph.add(Send{star::spoke(root, k, exchange.ranks), own, {partition, kCopied}});
    }
  } else if (exchange.self == relay) {
    const BufferId theirs = add_received(graph, root, {partition, kCopied}, slice);
    for (int k = 0; k < others; ++k) {
      const Rank peer = star::spoke(relay, k, exchange.ranks);
      if (peer != root) graph.add(Send{peer, theirs, {partition, kSentOn}});
    }
  } else {
    add_received(graph, relay, {partition, sent_on ? kSentOn : kCopied}, slice);
  }
}

}  // namespace

int gather_partitions(Bytes bytes, int ranks) {
  return ranks * std::max(count_of(bytes / static_cast<Bytes>(ranks), kMostDirect), 1);
}

TaskGraph gather_graph(const Exchange& exchange) {
  const auto ranks = static_cast<std::size_t>(exchange.ranks);
  CASYNC_CHECK(exchange.partitions > 0 && exchange.partitions % ranks == 0);
  const std::size_t of_each = exchange.partitions / ranks;
  TaskGraph::Builder graph;
  for (std::size_t part = 0; part < of_each; ++part) {
    for (int k = 0; k < exchange.ranks; ++k) {
      const Rank owner = (exchange.self + k) % exchange.ranks;
      const std::size_t number = static_cast<std::size_t>(owner) * of_each + part;
      const auto partition = static_cast<std::uint32_t>(number);
      const Slice slice = shard_partition(exchange.elements, exchange.ranks, exchange.partitions, number);
      if (slice.count == 0) continue;
      if (owner != exchange.self) {
        add_received(graph, owner, {partition, kCopied}, slice);
        continue;
      }
      const BufferId own = add_own(graph, partition, slice);
      for (int s = 0; s < star::spokes(exchange.ranks); ++s) {
        graph.add(Send{star::spoke(exchange.self, s, exchange.ranks), own, {partition, kCopied}});
      }
    }
  }
  return std::move(graph).build();
}

int broadcast_partitions(Bytes bytes, int ranks) {
  const int others = star::spokes(ranks);
  if (others <= 1) return std::max(count_of(bytes, kMostDirect), 1);
  if (bytes < kLeastSentOn * static_cast<Bytes>(others)) return 1;
  const Bytes share = ceil_div(bytes, static_cast<Bytes>(others));
  return others * std::clamp(count_of(share, kLeastPartition), 1, kSentOnByEach);
}

TaskGraph broadcast_graph(const Exchange& exchange) {
  TaskGraph::Builder graph;
  for (std::size_t p = 0; p < exchange.partitions; ++p) {
    const Slice slice = partition_slice(exchange.elements, exchange.partitions, p);
    if (slice.count > 0) add_broadcast(graph, exchange, static_cast<std::uint32_t>(p), slice);
  }
  return std::move(graph).build();
}

}  // namespace casync
