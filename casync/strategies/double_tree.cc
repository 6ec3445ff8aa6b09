// SPDX-License-Identifier: Apache-2.0
#include "casync/strategies/graphs.h"

#include <utility>

#include "casync/patterns/binary_tree.h"
#include "casync/strategies/tree_leg.h"

namespace casync {
namespace {

constexpr std::size_t kTrees = 2;

class BinaryTree {
 public:
  BinaryTree(int ranks, Rank root) : ranks_(ranks), root_(root) {}

  int place_of(Rank rank) const {
    return binary_tree::with_number(binary_tree::number_of(rank, root_, ranks_), ranks_).place;
  }
  Rank at(int place) const { return binary_tree::rank_of(node(place).number(), root_, ranks_); }
  int parent(int place) const { return node(place).parent; }
  int children(int place) const { return node(place).children(); }
  // The right child first: its subtree is the smaller one, or missing.
  int child(int place, int k) const {
    const binary_tree::Node here = node(place);
    return k + 1 < here.children() ? binary_tree::right(here).place : binary_tree::left(here).place;
  }
  int size(int place) const { return node(place).size; }
  int height() const { return binary_tree::height(ranks_); }
  int depth(int place) const { return node(place).depth; }
  std::uint32_t up_hop(int place) const { return static_cast<std::uint32_t>(height() - depth(place)); }

 private:
  binary_tree::Node node(int place) const { return binary_tree::with_place(place, ranks_); }

  int ranks_;
  Rank root_;
};

}  // namespace

/// Double binary tree: partitions with an even number go up and down one binary tree of the ranks, the others another.
/// A rank has children in one of the two at most, so it sends and receives about as much as every other rank, also with
/// two partitions, and waits for two messages at most. Sums are encoded again at each rank, as in a tree.
TaskGraph double_tree_graph(const Exchange& exchange) {
  TaskGraph::Builder graph;
  for (std::size_t p = 0; p < exchange.partitions; ++p) {
    const Slice slice = partition_slice(exchange.elements, exchange.partitions, p);
    if (slice.count == 0) continue;
    // The roots are neighbours, so the numbers of each rank in the two trees
    // differ by one.
    const BinaryTree tree(exchange.ranks, exchange.owner(p % kTrees));
    TreeLeg(graph, exchange, tree, static_cast<std::uint32_t>(p), slice).add();
  }
  return std::move(graph).build();
}

double double_tree_encodings(int ranks) { return binary_tree::mean_depth(ranks); }

}  // namespace casync
