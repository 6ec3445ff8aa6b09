// SPDX-License-Identifier: Apache-2.0
#include "casync/strategies/graphs.h"

#include <utility>

#include "casync/patterns/ring.h"

namespace casync {
namespace {

// One partition on this rank.
class RingLeg {
 public:
  RingLeg(TaskGraph::Builder& graph, const Exchange& exchange, std::uint32_t partition, const Slice& slice)
      : graph_(graph),
        partition_(partition),
        slice_(slice),
        ranks_(exchange.ranks),
        self_(exchange.self),
        owner_(exchange.owner(partition)),
        coded_terms_(exchange.coded_terms),
        position_(ring::position(exchange.self, exchange.owner(partition), exchange.ranks)),
        next_(ring::successor(exchange.self, exchange.ranks)),
        previous_(ring::predecessor(exchange.self, exchange.ranks)) {}

  void add() {
    if (position_ == ranks_ - 1) {
      add_result(coded_terms_ ? add_merge_of_codes() : add_merge(Hop::kSecond, true));
    } else if (coded_terms_) {
      add_gather(add_relay());
    } else {
      add_gather({position_ == 0 ? add_start() : add_pass_on()});
    }
  }

 private:
  BufferId buffer(Hop hop) { return graph_.buffer({slice_, hop, partition_}); }

  // These return the sends after which the gradient's elements may change: the code of an identity codec lies in
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

  std::vector<TaskId> add_relay() {
    const BufferId mine = buffer(Hop::kFirst);
    graph_.add(Encode{slice_, mine});
    std::vector<TaskId> sent{graph_.add(Send{next_, mine, {partition_, ring::relay_hop(position_, position_)}})};
    for (int origin = position_ - 1; origin >= 0; --origin) {
      sent.push_back(graph_.add(Send{next_, add_arrival(origin), {partition_, ring::relay_hop(origin, position_)}}));
    }
    return sent;
  }

  // The code of the rank at position `origin`, from the neighbour.
  BufferId add_arrival(int origin) {
    const BufferId theirs = buffer(Hop::kFirst);
    graph_.add(Recv{previous_, theirs, {partition_, ring::relay_hop(origin, position_ - 1)}});
    return theirs;
  }

  BufferId add_merge_of_codes() {
    std::vector<std::optional<BufferId>> contributions(static_cast<std::size_t>(ranks_));
    for (int origin = 0; origin < position_; ++origin) {
      contributions[static_cast<std::size_t>(ring::at(origin, owner_, ranks_))] = add_arrival(origin);
    }
    const BufferId mine = buffer(Hop::kFirst);
    graph_.add(Encode{slice_, mine});
    contributions[static_cast<std::size_t>(self_)] = mine;
    const BufferId result = buffer(Hop::kSecond);
    graph_.add(Merge{.contributions = std::move(contributions), .local = slice_, .to = result, .last = true});
    return result;
  }

  void add_result(BufferId result) {
    if (ranks_ > 1) graph_.add(Send{next_, result, {partition_, ring::gather_hop(0, ranks_)}});
    graph_.add(Decode{result, slice_});
  }

  // Adds the sum received so far to this rank's own elements; at position 0, in a ring of one, nothing was received.
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

  void add_gather(const std::vector<TaskId>& sent) {
    const BufferId result = buffer(Hop::kSecond);
    graph_.add(Recv{previous_, result, {partition_, ring::gather_hop(position_, ranks_)}});
    const bool passes_on = position_ + 1 < ranks_ - 1;
    // Sends ahead of decoding, so that the next rank need not wait for it.
    if (passes_on) graph_.add(Send{next_, result, {partition_, ring::gather_hop(position_ + 1, ranks_)}});
    const TaskId decoded = graph_.add(Decode{result, slice_});
    for (const TaskId one : sent) graph_.after(one, decoded);
  }

  TaskGraph::Builder& graph_;
  std::uint32_t partition_;
  Slice slice_;
  int ranks_;
  Rank self_, owner_;
  bool coded_terms_;
  int position_;
  Rank next_, previous_;
};

}  // namespace

/// Ring: each partition starts after its owner and gathers one contribution per rank on its way to it, decoded, added
/// and encoded again at each hop, then the owner's final code goes around unchanged. Every rank talks to its two
/// neighbours only. With coded terms all codes so far travel on side by side, and the owner merges them in rank order.
TaskGraph ring_graph(const Exchange& exchange) {
  TaskGraph::Builder graph;
  for (std::size_t p = 0; p < exchange.partitions; ++p) {
    const Slice slice = partition_slice(exchange.elements, exchange.partitions, p);
    if (slice.count > 0) RingLeg(graph, exchange, static_cast<std::uint32_t>(p), slice).add();
  }
  return std::move(graph).build();
}

double ring_encodings(int ranks) { return (ranks - 1) / 2.0; }

}  // namespace casync
