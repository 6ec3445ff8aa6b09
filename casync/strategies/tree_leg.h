// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "casync/graph/task_graph.h"
#include "casync/strategies/exchange.h"

namespace casync {

/// One partition on this rank, along any tree of ranks: sums go up, encoded again by each rank, and the root's code
/// goes down unchanged. With coded terms a rank sends all codes that it has up side by side.
///
/// `Tree` numbers the ranks by places: 0 is the root, and those of a subtree follow its root without a gap.
///
///   int place_of(Rank), Rank at(int place), int parent(int place)
///   int children(int place), int child(int place, int k)     their places ascend; the last has the largest subtree,
///                                                             or nearly
///   int size(int place)                                      of the subtree
///   int height(), int depth(int place)                       messages from the deepest place, and from this one
///   std::uint32_t up_hop(int place)                          above its children's; below height()
template <class Tree>
class TreeLeg {
 public:
  TreeLeg(TaskGraph::Builder& graph, const Exchange& exchange, const Tree& tree, std::uint32_t partition,
          const Slice& slice)
      : graph_(graph),
        tree_(tree),
        partition_(partition),
        slice_(slice),
        ranks_(exchange.ranks),
        coded_terms_(exchange.coded_terms),
        place_(tree.place_of(exchange.self)),
        children_(tree.children(place_)) {}

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
  Rank parent() const { return tree_.at(tree_.parent(place_)); }

  // The hop of the message in which a place sends the code of `origin`, which hangs from it: 0 is its own.
  static std::uint32_t relay_hop(int origin, int place) { return static_cast<std::uint32_t>(origin - place); }
  // The hops of the way down go on where those of the way up end: the root has all codes after hops below ranks - 1.
  std::uint32_t down_hop(int place) const {
    const int first = coded_terms_ ? ranks_ - 1 : tree_.height();
    return static_cast<std::uint32_t>(first + tree_.depth(place) - 1);
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
      sent.push_back(graph_.add(Send{parent(), code, {partition_, relay_hop(origin, place_)}}));
    });
    return sent;
  }

  TaskId add_sum() {
    const BufferId sum = children_ > 0 ? add_merge(Hop::kFirst, false) : buffer(Hop::kFirst);
    if (children_ == 0) graph_.add(Encode{slice_, sum});
    return graph_.add(Send{parent(), sum, {partition_, tree_.up_hop(place_)}});
  }

  // Calls visit(place, buffer) for this rank's own code and those that come from its children.
  template <class Visit>
  void for_each_code(Visit visit) {
    const BufferId mine = buffer(Hop::kFirst);
    graph_.add(Encode{slice_, mine});
    visit(place_, mine);
    for (int k = 0; k < children_; ++k) {
      const int child = tree_.child(place_, k);
      for (int origin = child; origin < child + tree_.size(child); ++origin) {
        const BufferId theirs = buffer(Hop::kFirst);
        graph_.add(Recv{tree_.at(child), theirs, {partition_, relay_hop(origin, child)}});
        visit(origin, theirs);
      }
    }
  }

  BufferId add_merge_of_codes() {
    std::vector<std::optional<BufferId>> contributions(static_cast<std::size_t>(ranks_));
    for_each_code([&](int origin, BufferId code) { contributions[static_cast<std::size_t>(tree_.at(origin))] = code; });
    const BufferId result = buffer(Hop::kSecond);
    graph_.add(Merge{.contributions = std::move(contributions), .local = slice_, .to = result, .last = true});
    return result;
  }

  // This rank's own elements first, then the children's sums by place, whatever order they came in.
  BufferId add_merge(Hop hop, bool last) {
    std::vector<std::optional<BufferId>> contributions{std::nullopt};
    for (int k = 0; k < children_; ++k) {
      const int child = tree_.child(place_, k);
      const BufferId theirs = buffer(Hop::kFirst);
      graph_.add(Recv{tree_.at(child), theirs, {partition_, tree_.up_hop(child)}});
      contributions.emplace_back(theirs);
    }
    const BufferId sum = buffer(hop);
    graph_.add(Merge{.contributions = std::move(contributions), .local = slice_, .to = sum, .last = last});
    return sum;
  }

  void add_result(const std::vector<TaskId>& sent) {
    const BufferId result = buffer(Hop::kSecond);
    graph_.add(Recv{parent(), result, {partition_, down_hop(place_)}});
    pass_down(result);  // ahead of the decode, so that the next ranks need not wait for it
    const TaskId decoded = graph_.add(Decode{result, slice_});
    for (const TaskId one : sent) graph_.after(one, decoded);
  }

  // Sends to the largest subtree first: its way is the longest.
  void pass_down(BufferId result) {
    for (int k = children_ - 1; k >= 0; --k) {
      const int child = tree_.child(place_, k);
      graph_.add(Send{tree_.at(child), result, {partition_, down_hop(child)}});
    }
  }

  TaskGraph::Builder& graph_;
  const Tree& tree_;
  std::uint32_t partition_;
  Slice slice_;
  int ranks_;
  bool coded_terms_;
  int place_, children_;
};

}  // namespace casync
