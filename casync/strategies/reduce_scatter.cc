// SPDX-License-Identifier: Apache-2.0
#include "casync/strategies/reduce_scatter.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "casync/patterns/star.h"

namespace casync {
namespace {

/// The shards of all ranks, each in as many partitions.
class Shards {
 public:
  explicit Shards(const Exchange& exchange)
      : exchange_(exchange), of_each_(exchange.partitions / static_cast<std::size_t>(exchange.ranks)) {
    CASYNC_CHECK(of_each_ > 0 && exchange.partitions % static_cast<std::size_t>(exchange.ranks) == 0);
  }

  std::size_t of_each() const { return of_each_; }
  std::uint32_t number(Rank owner, std::size_t part) const {
    return static_cast<std::uint32_t>(static_cast<std::size_t>(owner) * of_each_ + part);
  }
  Slice slice(Rank owner, std::size_t part) const {
    return shard_partition(exchange_.elements, exchange_.ranks, exchange_.partitions, number(owner, part));
  }
  /// No elements, at the beginning of a shard: the answer that says if its sums are finite.
  Buffer answer(Rank owner) const {
    return {{shard_of(exchange_.elements, exchange_.ranks, owner).first, 0}, Hop::kRaw, number(owner, 0)};
  }

 private:
  const Exchange& exchange_;
  const std::size_t of_each_;
};

void add_sent(TaskGraph::Builder& graph, Rank owner, std::uint32_t partition, const Slice& slice) {
  const BufferId mine = graph.buffer({slice, Hop::kFirst, partition});
  graph.add(Encode{slice, mine});
  graph.add(Send{owner, mine, {partition, star::kToHub}});
}

/// Returns the sum.
BufferId add_owned_shard(TaskGraph::Builder& graph, const Exchange& exchange, std::uint32_t partition,
                         const Slice& slice) {
  // Rank order, whatever the order of arrival: the sum is then the same bytes in every run.
  std::vector<std::optional<BufferId>> by_rank(static_cast<std::size_t>(exchange.ranks));
  for (int k = 0; k < star::spokes(exchange.ranks); ++k) {
    const Rank peer = star::spoke(exchange.self, k, exchange.ranks);
    const BufferId theirs = graph.buffer({slice, Hop::kFirst, partition});
    graph.add(Recv{peer, theirs, {partition, star::kToHub}});
    by_rank[static_cast<std::size_t>(peer)] = theirs;
  }
  if (exchange.coded_terms) {
    const BufferId mine = graph.buffer({slice, Hop::kFirst, partition});
    graph.add(Encode{slice, mine});
    by_rank[static_cast<std::size_t>(exchange.self)] = mine;
  }
  const BufferId merged = graph.buffer({slice, exchange.votes ? Hop::kSecond : Hop::kSum, partition});
  graph.add(Merge{.contributions = std::move(by_rank), .local = slice, .to = merged, .last = true});
  graph.add(Decode{merged, slice});
  return merged;
}

void add_answers(TaskGraph::Builder& graph, const Exchange& exchange, const Shards& shards,
                 std::vector<std::optional<BufferId>> sums) {
  const Buffer own = shards.answer(exchange.self);
  const BufferId answer = graph.buffer(own);
  graph.add(Merge{.contributions = std::move(sums), .local = own.slice, .to = answer});
  for (int k = 0; k < star::spokes(exchange.ranks); ++k) {
    const Rank peer = star::spoke(exchange.self, k, exchange.ranks);
    graph.add(Send{peer, answer, {own.partition, star::kFromHub}});
    const Buffer other = shards.answer(peer);
    const BufferId theirs = graph.buffer(other);
    graph.add(Recv{peer, theirs, {other.partition, star::kFromHub}});
    graph.add(Decode{theirs, other.slice});
  }
}

}  // namespace

Status check_shards(Elements elements, int ranks) {
  const auto count = static_cast<Elements>(ranks);
  if (elements % count == 0) return Status::ok();
  return invalid_argument(std::to_string(elements) + " elements are not " + std::to_string(ranks) +
                          " equal shards, one for each rank: pad them to " + std::to_string(round_up(elements, count)));
}

int shard_partitions(int partitions, int ranks) { return (partitions + ranks - 1) / ranks * ranks; }

void scatter(int ranks, Decision& decision) {
  decision.strategy = StrategyKind::kPs;
  decision.servers = {};
  decision.second_hop = decision.codec;
  decision.partitions = shard_partitions(decision.partitions, ranks);
}

CodecTraits scattered_traits(CodecTraits traits) {
  traits.coded_terms = traits.coded_terms || traits.has_result;
  return traits;
}

Slice shard_partition(Elements elements, int ranks, std::size_t partitions, std::size_t index) {
  const std::size_t of_each = partitions / static_cast<std::size_t>(ranks);
  const Slice shard = shard_of(elements, ranks, static_cast<Rank>(index / of_each));
  const Slice part = partition_slice(shard.count, of_each, index % of_each);
  return {shard.first + part.first, part.count};
}

TaskGraph reduce_scatter_graph(const Exchange& exchange) {
  TaskGraph::Builder graph;
  const Shards shards(exchange);
  std::vector<std::optional<BufferId>> sums;
  // Each rank begins with the next one's shard, and goes around the owners for each part of theirs.
  for (std::size_t part = 0; part < shards.of_each(); ++part) {
    for (int k = 0; k < exchange.ranks; ++k) {
      const Rank owner = (exchange.self + 1 + k) % exchange.ranks;
      const Slice slice = shards.slice(owner, part);
      if (slice.count == 0) continue;
      if (owner == exchange.self) {
        sums.emplace_back(add_owned_shard(graph, exchange, shards.number(owner, part), slice));
      } else {
        add_sent(graph, owner, shards.number(owner, part), slice);
      }
    }
  }
  if (exchange.ranks > 1 && !sums.empty()) add_answers(graph, exchange, shards, std::move(sums));
  return std::move(graph).build();
}

}  // namespace casync
