// SPDX-License-Identifier: Apache-2.0
#include "casync/strategies/hierarchical.h"

#include <utility>

#include "casync/patterns/delegates.h"

namespace casync {
namespace {

// The hops of a partition's way.
constexpr std::uint32_t kToDelegate = 0;
constexpr std::uint32_t kToOwner = 1;
constexpr std::uint32_t kFromOwner = 2;
constexpr std::uint32_t kFromDelegate = 3;

using Contributions = std::vector<std::optional<BufferId>>;

// One partition on this rank.
class Leg {
 public:
  Leg(TaskGraph::Builder& graph, const Exchange& exchange, std::span<const Node> nodes, std::uint32_t partition,
      const Slice& slice)
      : graph_(graph),
        nodes_(nodes),
        self_(exchange.self),
        turn_(exchange.first_owner + partition),
        partition_(partition),
        slice_(slice) {
    for (const Node& node : nodes) {
      if (std::find(node.begin(), node.end(), self_) != node.end()) node_ = &node;
    }
    delegate_ = delegate(*node_, turn_);
    owner_ = delegate(nodes[owner_node(nodes, turn_)], turn_);
  }

  void add() {
    if (self_ == owner_) {
      add_owner();
    } else if (self_ == delegate_) {
      add_delegate();
    } else {
      add_member();
    }
  }

 private:
  BufferId buffer(Hop hop) { return graph_.buffer({slice_, hop, partition_}); }

  void add_member() {
    const BufferId mine = buffer(Hop::kRaw);
    graph_.add(Encode{slice_, mine});
    const TaskId sent = graph_.add(Send{delegate_, mine, {partition_, kToDelegate}});
    const BufferId result = buffer(Hop::kSecond);
    graph_.add(Recv{delegate_, result, {partition_, kFromDelegate}});
    // Raw elements are sent from the gradient's own memory.
    graph_.after(sent, graph_.add(Decode{result, slice_}));
  }

  void add_delegate() {
    const BufferId sum = node_->size() > 1 ? add_merge(node_contributions(), Hop::kFirst, false) : buffer(Hop::kFirst);
    if (node_->size() == 1) graph_.add(Encode{slice_, sum});
    const TaskId sent = graph_.add(Send{owner_, sum, {partition_, kToOwner}});
    const BufferId result = buffer(Hop::kSecond);
    graph_.add(Recv{owner_, result, {partition_, kFromOwner}});
    send_to_node(result);  // before the decode, so that they need not wait for it
    // The code of an identity codec lies in the gradient's own memory, too.
    graph_.after(sent, graph_.add(Decode{result, slice_}));
  }

  void add_owner() {
    const BufferId result =
        add_merge(nodes_.size() == 1 ? node_contributions() : all_contributions(), Hop::kSecond, true);
    for (const Node& node : nodes_) {
      if (&node != node_) graph_.add(Send{delegate(node, turn_), result, {partition_, kFromOwner}});
    }
    send_to_node(result);
    graph_.add(Decode{result, slice_});
  }

  // In rank order, this rank's own elements among them.
  Contributions node_contributions() {
    Contributions contributions;
    for (const Rank rank : *node_) {
      std::optional<BufferId> theirs;
      if (rank != self_) {
        theirs = buffer(Hop::kRaw);
        graph_.add(Recv{rank, *theirs, {partition_, kToDelegate}});
      }
      contributions.push_back(theirs);
    }
    return contributions;
  }

  // In the order of nodes: the codes of the others, and this node's own sum as it is.
  Contributions all_contributions() {
    Contributions contributions;
    for (const Node& node : nodes_) {
      std::optional<BufferId> theirs;
      if (&node != node_) {
        theirs = buffer(Hop::kFirst);
        graph_.add(Recv{delegate(node, turn_), *theirs, {partition_, kToOwner}});
      } else if (node.size() > 1) {
        theirs = add_merge(node_contributions(), Hop::kSum, false);
      }
      contributions.push_back(theirs);
    }
    return contributions;
  }

  BufferId add_merge(Contributions contributions, Hop hop, bool last) {
    const BufferId sum = buffer(hop);
    graph_.add(Merge{.contributions = std::move(contributions), .local = slice_, .to = sum, .last = last});
    return sum;
  }

  void send_to_node(BufferId result) {
    for (const Rank rank : *node_) {
      if (rank != self_) graph_.add(Send{rank, result, {partition_, kFromDelegate}});
    }
  }

  TaskGraph::Builder& graph_;
  std::span<const Node> nodes_;
  Rank self_;
  std::size_t turn_;
  std::uint32_t partition_;
  Slice slice_;
  const Node* node_ = nullptr;  ///< this rank's
  Rank delegate_ = 0;           ///< of this rank's node
  Rank owner_ = 0;
};

}  // namespace

TaskGraph hierarchical_graph(const Exchange& exchange) {
  const std::vector<Node> nodes = nodes_of(exchange.node_of, exchange.ranks);
  TaskGraph::Builder graph;
  for (std::size_t p = 0; p < exchange.partitions; ++p) {
    const Slice slice = partition_slice(exchange.elements, exchange.partitions, p);
    if (slice.count > 0) Leg(graph, exchange, nodes, static_cast<std::uint32_t>(p), slice).add();
  }
  return std::move(graph).build();
}

}  // namespace casync
