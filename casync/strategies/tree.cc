// SPDX-License-Identifier: Apache-2.0
#include "casync/strategies/tree.h"

#include <utility>

#include "casync/patterns/tree.h"

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
        root_(exchange.owner(partition)),
        place_(tree::place(exchange.self, root_, ranks_)),
        children_(tree::children(place_, ranks_)) {}

  void add() {
    if (place_ == 0) {
      add_root();
    } else {
      add_result(add_sum());
    }
  }

 private:
  BufferId buffer(Hop hop) { return graph_.buffer({slice_, hop, partition_}); }
  Rank at(int place) const { return tree::at(place, root_, ranks_); }

  void add_root() {
    const BufferId result = add_merge(Hop::kSecond, true);
    pass_down(result);
    graph_.add(Decode{result, slice_});
  }

  // Returns the send after which the gradient's elements may change: the code of an identity codec lies in the
  // gradient's own memory.
  TaskId add_sum() {
    const BufferId sum = children_ > 0 ? add_merge(Hop::kFirst, false) : buffer(Hop::kFirst);
    if (children_ == 0) graph_.add(Encode{slice_, sum});
    return graph_.add(Send{at(tree::parent(place_)), sum, {partition_, tree::up_hop(place_, ranks_)}});
  }

  // This rank's own elements first, then the children's sums by place, whatever order they came in.
  BufferId add_merge(Hop hop, bool last) {
    std::vector<std::optional<BufferId>> contributions{std::nullopt};
    for (int k = 0; k < children_; ++k) {
      const int child = tree::child(place_, k);
      const BufferId theirs = buffer(Hop::kFirst);
      graph_.add(Recv{at(child), theirs, {partition_, tree::up_hop(child, ranks_)}});
      contributions.emplace_back(theirs);
    }
    const BufferId sum = buffer(hop);
    graph_.add(Merge{.contributions = std::move(contributions), .local = slice_, .to = sum, .last = last});
    return sum;
  }

  void add_result(TaskId sent) {
    const BufferId result = buffer(Hop::kSecond);
    graph_.add(Recv{at(tree::parent(place_)), result, {partition_, tree::down_hop(place_, ranks_)}});
    pass_down(result);  // before the decode, so that the next ranks need not wait for it
    graph_.after(sent, graph_.add(Decode{result, slice_}));
  }

  // To the largest subtree first: its way is the longest.
  void pass_down(BufferId result) {
    for (int k = children_ - 1; k >= 0; --k) {
      const int child = tree::child(place_, k);
      graph_.add(Send{at(child), result, {partition_, tree::down_hop(child, ranks_)}});
    }
  }

  TaskGraph::Builder& graph_;
  std::uint32_t partition_;
  Slice slice_;
  int ranks_;
  Rank root_;
  int place_, children_;
};

}  // namespace

TaskGraph tree_graph(const Exchange& exchange) {
  TaskGraph::Builder graph;
  for (std::size_t p = 0; p < exchange.partitions; ++p) {
    const Slice slice = partition_slice(exchange.elements, exchange.partitions, p);
    if (slice.count > 0) Leg(graph, exchange, static_cast<std::uint32_t>(p), slice).add();
  }
  return std::move(graph).build();
}

}  // namespace casync
