// SPDX-License-Identifier: Apache-2.0
#include "casync/strategies/tree.h"

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

}  // namespace casync
