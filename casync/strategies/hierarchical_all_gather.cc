// SPDX-License-Identifier: Apache-2.0
#include "casync/strategies/graphs.h"

#include <algorithm>
#include <utility>

#include "casync/patterns/delegates.h"

namespace casync {
namespace {

using Contributions = std::vector<std::optional<BufferId>>;

constexpr std::uint32_t kWithinNode = 0;
/// The hop of the code that comes from a node's delegate: the i-th of its node's codes, or that of their sum.
constexpr std::uint32_t between_hop(std::size_t i) { return static_cast<std::uint32_t>(1 + i); }

// One partition on this rank.
class HierarchicalGatherLeg {
 public:
  HierarchicalGatherLeg(TaskGraph::Builder& graph, const Exchange& exchange, std::span<const Node> nodes,
                        const Node& node, std::uint32_t partition, const Slice& slice)
      : graph_(graph),
        nodes_(nodes),
        ranks_(exchange.ranks),
        self_(exchange.self),
        coded_terms_(exchange.coded_terms),
        result_(exchange.votes ? Hop::kSecond : Hop::kRaw),
        from_delegate_(between_hop(coded_terms_ ? most_ranks(nodes) : 1)),
        place_(exchange.first_owner + partition),
        partition_(partition),
        slice_(slice),
        node_(&node) {}

  void add() {
    if (self_ == delegate(*node_, place_)) {
      add_delegate();
    } else {
      add_member();
    }
  }

 private:
  BufferId buffer(Hop hop) { return graph_.buffer({slice_, hop, partition_}); }

  BufferId add_code(Hop hop) {
    const BufferId mine = buffer(hop);
    graph_.add(Encode{slice_, mine});
    return mine;
  }

  BufferId add_arrival(Rank from, Hop hop, std::uint32_t message) {
    const BufferId theirs = buffer(hop);
    graph_.add(Recv{from, theirs, {partition_, message}});
    return theirs;
  }

  BufferId add_merge(Contributions contributions, Hop hop, bool last) {
    const BufferId sum = buffer(hop);
    merge_ = graph_.add(Merge{.contributions = std::move(contributions), .local = slice_, .to = sum, .last = last});
    return sum;
  }

  void add_member() {
    const Rank to = delegate(*node_, place_);
    const BufferId mine = add_code(coded_terms_ ? Hop::kFirst : Hop::kRaw);
    const TaskId sent = graph_.add(Send{to, mine, {partition_, kWithinNode}});
    const BufferId result = add_arrival(to, result_, from_delegate_);
    // Raw elements are sent from the gradient's own memory.
    graph_.after(sent, graph_.add(Decode{result, slice_}));
  }

  void add_delegate() {
    Contributions all = coded_terms_ ? codes_of_ranks() : codes_of_nodes();
    const BufferId result = add_merge(std::move(all), result_, true);
    // The result lies in the gradient's own memory, and so does the code of an identity codec.
    for (const TaskId sent : sent_) graph_.after(sent, merge_);
    const TaskId decoded = graph_.add(Decode{result, slice_});
    for (const Rank rank : *node_) {
      if (rank != self_) graph_.after(graph_.add(Send{rank, result, {partition_, from_delegate_}}), decoded);
    }
  }

  // The i-th code of this node, to the delegates of all others.
  void send_between(BufferId code, std::size_t i) {
    for (const Node& node : nodes_) {
      if (&node != node_) sent_.push_back(graph_.add(Send{delegate(node, place_), code, {partition_, between_hop(i)}}));
    }
  }

  // The codes of the nodes' sums, in the order of nodes.
  Contributions codes_of_nodes() {
    Contributions contributions;
    for (const Node& node : nodes_) {
      if (&node == node_) {
        const BufferId mine =
            node.size() > 1 ? add_merge(node_contributions(), Hop::kFirst, false) : add_code(Hop::kFirst);
        send_between(mine, 0);
        contributions.emplace_back(mine);
      } else {
        contributions.emplace_back(add_arrival(delegate(node, place_), Hop::kFirst, between_hop(0)));
      }
    }
    return contributions;
  }

  // Elements in rank order, this rank's own among them.
  Contributions node_contributions() {
    Contributions contributions;
    for (const Rank rank : *node_) {
      std::optional<BufferId> theirs;
      if (rank != self_) theirs = add_arrival(rank, Hop::kRaw, kWithinNode);
      contributions.push_back(theirs);
    }
    return contributions;
  }

  // The codes of all ranks in rank order: those of this node from its ranks, those of another from its delegate.
  Contributions codes_of_ranks() {
    Contributions contributions(static_cast<std::size_t>(ranks_));
    for (const Node& node : nodes_) {
      for (std::size_t i = 0; i < node.size(); ++i) {
        std::optional<BufferId>& code = contributions[static_cast<std::size_t>(node[i])];
        if (&node != node_) {
          code = add_arrival(delegate(node, place_), Hop::kFirst, between_hop(i));
          continue;
        }
        code = node[i] == self_ ? add_code(Hop::kFirst) : add_arrival(node[i], Hop::kFirst, kWithinNode);
        send_between(*code, i);
      }
    }
    return contributions;
  }

  TaskGraph::Builder& graph_;
  std::span<const Node> nodes_;
  int ranks_;
  Rank self_;
  bool coded_terms_;
  Hop result_;                   ///< of what a node's ranks get
  std::uint32_t from_delegate_;  ///< its message
  std::size_t place_;
  std::uint32_t partition_;
  Slice slice_;
  const Node* node_;          ///< this rank's
  TaskId merge_{};            ///< the latest
  std::vector<TaskId> sent_;  ///< between nodes
};

}  // namespace

/// HiTopKComm (Shi et al. 2021, "Towards scalable distributed training of deep learning on public cloud clusters"): a
/// reduce-scatter inside each node, an all-gather of codes between nodes, an all-gather inside each node. On each node
/// a delegate adds the elements of its node's ranks as they are, encodes the sum and sends it to the delegates of all
/// other nodes; each of them merges the codes of all nodes in the same order and sends the result, in the gradient's
/// own type, to the ranks of its node. The ranks of a node take turns as delegates, so a rank's shard is the partitions
/// for which it is one. There is no owner and no second hop: the only error is that of one code for each node.
///
/// With coded terms each rank encodes its own elements, and all delegates merge the codes of all ranks in rank order;
/// votes travel inside a node as the code that they make.
TaskGraph hierarchical_all_gather_graph(const Exchange& exchange) {
  std::vector<Node> own;
  const std::span<const Node> nodes = nodes_of(exchange, own);
  const Node& node = node_with(nodes, exchange.self);
  TaskGraph::Builder graph;
  for (std::size_t p = 0; p < exchange.partitions; ++p) {
    const Slice slice = partition_slice(exchange.elements, exchange.partitions, p);
    if (slice.count > 0)
      HierarchicalGatherLeg(graph, exchange, nodes, node, static_cast<std::uint32_t>(p), slice).add();
  }
  return std::move(graph).build();
}

}  // namespace casync
