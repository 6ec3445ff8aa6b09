// SPDX-License-Identifier: Apache-2.0
#include "casync/strategies/ring.h"

#include <utility>

#include "casync/patterns/ring.h"

namespace casync {
namespace {

// One partition on this rank.
class Leg {
 public:
  Leg(TaskGraph::Builder& graph, const Exchange& exchange, std::uint32_t partition, const Slice& slice)
      : graph_(graph),
        partition_(partition),
        slice_(slice),
        ranks_(exchange.ranks),
        position_(ring::position(exchange.self, exchange.owner(partition), exchange.ranks)),
        next_(ring::successor(exchange.self, exchange.ranks)),
        previous_(ring::predecessor(exchange.self, exchange.ranks)) {}

  void add() {
    if (position_ == ranks_ - 1) {
      add_owner();
    } else {
      add_gather(position_ == 0 ? add_start() : add_pass_on());
    }
  }

 private:
  BufferId buffer(Hop hop) { return graph_.buffer({slice_, hop, partition_}); }

  // Both return the send after which the gradient's elements may change: the code of an identity codec lies in
  // the gradient's own memory.
  TaskId add_start() {
    const BufferId mine = buffer(Hop::kFirst);
    graph_.add(Encode{slice_, mine});
    return add_reduce_send(mine);
  }

  TaskId add_pass_on() { return add_reduce_send(add_merge(Hop::kFirst, false)); }

  TaskId add_reduce_send(BufferId code) {
    return graph_.add(Send{next_, code, {partition_, ring::reduce_hop(position_)}});
  }

  void add_owner() {
    const BufferId result = add_merge(Hop::kSecond, true);
    if (ranks_ > 1) graph_.add(Send{next_, result, {partition_, ring::gather_hop(0, ranks_)}});
    graph_.add(Decode{result, slice_});
  }

  // Adds what has come so far to this rank's own elements; at position 0, in a ring of one, nothing has.
  BufferId add_merge(Hop hop, bool last) {
    std::vector<std::optional<BufferId>> contributions;
    if (position_ > 0) {
      const BufferId so_far = buffer(Hop::kFirst);
      graph_.add(Recv{previous_, so_far, {partition_, ring::reduce_hop(position_ - 1)}});
      contributions.push_back(so_far);
    }
    contributions.push_back(std::nullopt);
    const BufferId sum = buffer(hop);
    graph_.add(Merge{.contributions = std::move(contributions), .local = slice_, .to = sum, .last = last});
    return sum;
  }

  void add_gather(TaskId sent) {
    const BufferId result = buffer(Hop::kSecond);
    graph_.add(Recv{previous_, result, {partition_, ring::gather_hop(position_, ranks_)}});
    const bool passes_on = position_ + 1 < ranks_ - 1;
    // Before the decode, so that the next rank need not wait for it.
    if (passes_on) graph_.add(Send{next_, result, {partition_, ring::gather_hop(position_ + 1, ranks_)}});
    graph_.after(sent, graph_.add(Decode{result, slice_}));
  }

  TaskGraph::Builder& graph_;
  std::uint32_t partition_;
  Slice slice_;
  int ranks_;
  int position_;
  Rank next_, previous_;
};

}  // namespace

TaskGraph ring_graph(const Exchange& exchange) {
  TaskGraph::Builder graph;
  for (std::size_t p = 0; p < exchange.partitions; ++p) {
    const Slice slice = partition_slice(exchange.elements, exchange.partitions, p);
    if (slice.count > 0) Leg(graph, exchange, static_cast<std::uint32_t>(p), slice).add();
  }
  return std::move(graph).build();
}

}  // namespace casync
