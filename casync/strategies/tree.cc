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
        coded_terms_(exchange.coded_terms),
        root_(exchange.owner(partition)),
        place_(tree::place(exchange.self, root_, ranks_)),
        children_(tree::children(place_, ranks_)) {}

  void add() {
    if (place_ == 0) {
      add_root(coded_terms_ ? add_merge_of_codes() : add_merge(Hop::kSecond, true));
    } else if (coded_terms_) {
      add_result(add_relay());
    } else {
      add_result({add_sum()});
    }
  }

 private:
  BufferId buffer(Hop hop) { return graph_.buffer({slice_, hop, partition_}); }
  Rank at(int place) const { return tree::at(place, root_, ranks_); }
  std::uint32_t down_hop(int place) const {
    return coded_terms_ ? tree::down_hop_after_relay(place, ranks_) : tree::down_hop(place, ranks_);
  }

  void add_root(BufferId result) {
    pass_down(result);
    graph_.add(Decode{result, slice_});
  }

  // Both return the sends after which the gradient's elements may change: the code of an identity codec lies in the
  // gradient's own memory.
  std::vector<TaskId> add_relay() {
    std::vector<TaskId> sent;
    for_each_code([&](int origin, BufferId code) {
      sent.push_back(graph_.add(Send{at(tree::parent(place_)), code, {partition_, tree::relay_hop(origin, place_)}}));
    });
    return sent;
  }

  TaskId add_sum() {
    const BufferId sum = children_ > 0 ? add_merge(Hop::kFirst, false) : buffer(Hop::kFirst);
    if (children_ == 0) graph_.add(Encode{slice_, sum});
    return graph_.add(Send{at(tree::parent(place_)), sum, {partition_, tree::up_hop(place_, ranks_)}});
  }

  // Calls visit(place, buffer) for this rank's own code and those that come from its children.
  template <class Visit>
  void for_each_code(Visit visit) {
    const BufferId mine = buffer(Hop::kFirst);
    graph_.add(Encode{slice_, mine});
    visit(place_, mine);
    for (int k = 0; k < children_; ++k) {
      const int child = tree::child(place_, k);
      for (int origin = child; origin < child + tree::size(child, ranks_); ++origin) {
        const BufferId theirs = buffer(Hop::kFirst);
        graph_.add(Recv{at(child), theirs, {partition_, tree::relay_hop(origin, child)}});
        visit(origin, theirs);
      }
    }
  }

  BufferId add_merge_of_codes() {
    std::vector<std::optional<BufferId>> contributions(static_cast<std::size_t>(ranks_));
    for_each_code([&](int origin, BufferId code) { contributions[static_cast<std::size_t>(at(origin))] = code; });
    const BufferId result = buffer(Hop::kSecond);
    graph_.add(Merge{.contributions = std::move(contributions), .local = slice_, .to = result, .last = true});
    return result;
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

  void add_result(const std::vector<TaskId>& sent) {
    const BufferId result = buffer(Hop::kSecond);
    graph_.add(Recv{at(tree::parent(place_)), result, {partition_, down_hop(place_)}});
    pass_down(result);  // before the decode, so that the next ranks need not wait for it
    const TaskId decoded = graph_.add(Decode{result, slice_});
    for (const TaskId one : sent) graph_.after(one, decoded);
  }

  // Sends to the largest subtree first: its way is the longest.
  void pass_down(BufferId result) {
    for (int k = children_ - 1; k >= 0; --k) {
      const int child = tree::child(place_, k);
      graph_.add(Send{at(child), result, {partition_, down_hop(child)}});
    }
  }

  TaskGraph::Builder& graph_;
  std::uint32_t partition_;
  Slice slice_;
  int ranks_;
  bool coded_terms_;
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
