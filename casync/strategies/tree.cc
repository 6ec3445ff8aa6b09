// SPDX-License-Identifier: Apache-2.0
#include "casync/strategies/graphs.h"

#include <utility>

#include "casync/patterns/tree.h"
#include "casync/strategies/tree_leg.h"

namespace casync {
namespace {

struct BinomialTree {
  int ranks = 1;
  Rank root = 0;

  int place_of(Rank rank) const { return tree::place(rank, root, ranks); }
  Rank at(int place) const { return tree::at(place, root, ranks); }
  int parent(int place) const { return tree::parent(place); }
  int children(int place) const { return tree::children(place, ranks); }
  int child(int place, int k) const { return tree::child(place, k); }
  int size(int place) const { return tree::size(place, ranks); }
  int height() const { return tree::height(0, ranks); }
  int depth(int place) const { return tree::depth(place); }
  std::uint32_t up_hop(int place) const { return tree::up_hop(place, ranks); }
};

}  // namespace

/// Tree: the ranks of a partition form a binomial tree with its owner as the root. Each merges what its children sent
/// to its own elements, encodes the sum again and sends it up; the owner's final code goes down the same tree
/// unchanged. No rank waits for more than about log2(ranks) messages. With coded terms each sends all codes that it has
/// up side by side, and the owner merges them in rank order.
TaskGraph tree_graph(const Exchange& exchange) {
  TaskGraph::Builder graph;
  for (std::size_t p = 0; p < exchange.partitions; ++p) {
    const Slice slice = partition_slice(exchange.elements, exchange.partitions, p);
    if (slice.count == 0) continue;
    const BinomialTree tree{exchange.ranks, exchange.owner(p)};
    TreeLeg(graph, exchange, tree, static_cast<std::uint32_t>(p), slice).add();
  }
  return std::move(graph).build();
}

double tree_encodings(int ranks) { return static_cast<double>(ranks - 1) / ranks * tree::mean_size(ranks); }

}  // namespace casync
