// SPDX-License-Identifier: Apache-2.0
#include "casync/strategies/graphs.h"

#include <utility>

#include "casync/patterns/delegates.h"

namespace casync {
namespace {

// The hops of a partition's way. If codes travel side by side, hop 0 is a rank's own code, to its delegate or the
// owner, and hop 1 + i the code of a node's i-th rank, sent on by its delegate. Later hops are numbered from the most
// ranks of a node on.
constexpr std::uint32_t kToDelegate = 0;
constexpr std::uint32_t kToOwner = 1;
constexpr std::uint32_t kFromOwner = 2;
constexpr std::uint32_t kFromDelegate = 3;

using Contributions = std::vector<std::optional<BufferId>>;

// One partition on this rank.
class HierarchicalLeg {
 public:
  HierarchicalLeg(TaskGraph::Builder& graph, const Exchange& exchange, std::span<const Node> nodes, const Node& node,
                  std::uint32_t partition, const Slice& slice)
      : graph_(graph),
        nodes_(nodes),
        ranks_(exchange.ranks),
        self_(exchange.self),
        coded_terms_(exchange.coded_terms),
        from_owner_(coded_terms_ ? most_ranks(nodes) + 1 : kFromOwner),
        from_delegate_(coded_terms_ ? most_ranks(nodes) + 2 : kFromDelegate),
        place_(exchange.first_owner + partition),
        partition_(partition),
        slice_(slice),
        node_(&node),
        delegate_(delegate(node, place_)),
        owner_(delegate(nodes[owner_node(nodes, place_)], place_)) {}

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
    const BufferId mine = add_code(coded_terms_ ? Hop::kFirst : Hop::kRaw);
    const TaskId sent = graph_.add(Send{delegate_, mine, {partition_, kToDelegate}});
    const BufferId result = buffer(Hop::kSecond);
    graph_.add(Recv{delegate_, result, {partition_, from_delegate_}});
    // Raw elements are sent from the gradient's own memory.
    graph_.after(sent, graph_.add(Decode{result, slice_}));
  }

  BufferId add_code(Hop hop) {
    const BufferId mine = buffer(hop);
    graph_.add(Encode{slice_, mine});
    return mine;
  }

  void add_delegate() {
    const std::vector<TaskId> sent = coded_terms_ ? add_relay() : std::vector{add_sum()};
    const BufferId result = buffer(Hop::kSecond);
    graph_.add(Recv{owner_, result, {partition_, from_owner_}});
    send_to_node(result);  // ahead of the decode, so that they need not wait for it
    // The code of an identity codec lies in the gradient's own memory, too.
    const TaskId decoded = graph_.add(Decode{result, slice_});
    for (const TaskId one : sent) graph_.after(one, decoded);
  }

  TaskId add_sum() {
    const BufferId sum =
        node_->size() > 1 ? add_merge(node_contributions(), Hop::kFirst, false) : add_code(Hop::kFirst);
    return graph_.add(Send{owner_, sum, {partition_, kToOwner}});
  }

  std::vector<TaskId> add_relay() {
    std::vector<TaskId> sent{graph_.add(Send{owner_, add_code(Hop::kFirst), {partition_, 0}})};
    for (std::size_t i = 0; i < node_->size(); ++i) {
      const Rank rank = (*node_)[i];
      if (rank == self_) continue;
      const BufferId theirs = add_arrival(rank, Hop::kFirst, kToDelegate);
      sent.push_back(graph_.add(Send{owner_, theirs, {partition_, relay_hop(i)}}));
    }
    return sent;
  }

  static std::uint32_t relay_hop(std::size_t place) { return static_cast<std::uint32_t>(place + 1); }

  BufferId add_arrival(Rank from, Hop hop, std::uint32_t message) {
    const BufferId theirs = buffer(hop);
    graph_.add(Recv{from, theirs, {partition_, message}});
    return theirs;
  }

  void add_owner() {
    const BufferId result = add_merge(coded_terms_         ? all_codes()
                                      : nodes_.size() == 1 ? node_contributions()
                                                           : all_contributions(),
                                      Hop::kSecond, true);
    for (const Node& node : nodes_) {
      if (&node != node_) graph_.add(Send{delegate(node, place_), result, {partition_, from_owner_}});
    }
    send_to_node(result);
    graph_.add(Decode{result, slice_});
  }

  // Contributions in rank order, this rank's own elements among them.
  Contributions node_contributions() {
    Contributions contributions;
    for (const Rank rank : *node_) {
      std::optional<BufferId> theirs;
      if (rank != self_) theirs = add_arrival(rank, Hop::kRaw, kToDelegate);
      contributions.push_back(theirs);
    }
    return contributions;
  }

  // Contributions in the order of nodes: the codes of the others, and this node's own sum as it is.
  Contributions all_contributions() {
    Contributions contributions;
    for (const Node& node : nodes_) {
      std::optional<BufferId> theirs;
      if (&node != node_) {
        theirs = add_arrival(delegate(node, place_), Hop::kFirst, kToOwner);
      } else if (node.size() > 1) {
        theirs = add_merge(node_contributions(), Hop::kSum, false);
      }
      contributions.push_back(theirs);
    }
    return contributions;
  }

  // Codes in rank order: those of this node from its ranks, those of another from its delegate.
  Contributions all_codes() {
    Contributions contributions(static_cast<std::size_t>(ranks_));
    for (const Node& node : nodes_) {
      for (std::size_t i = 0; i < node.size(); ++i) {
        const Rank from = &node == node_ ? node[i] : delegate(node, place_);
        const std::uint32_t message = from == node[i] ? 0 : relay_hop(i);
        contributions[static_cast<std::size_t>(node[i])] =
            node[i] == self_ ? add_code(Hop::kFirst) : add_arrival(from, Hop::kFirst, message);
      }
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
      if (rank != self_) graph_.add(Send{rank, result, {partition_, from_delegate_}});
    }
  }

  TaskGraph::Builder& graph_;
  std::span<const Node> nodes_;
  int ranks_;
  Rank self_;
  bool coded_terms_;
  std::uint32_t from_owner_, from_delegate_;  ///< hops
  std::size_t place_;
  std::uint32_t partition_;
  Slice slice_;
  const Node* node_;  ///< this rank's
  Rank delegate_;     ///< of this rank's node
  Rank owner_;
};

}  // namespace

/// Two levels: on each node a delegate takes in the elements of its node's ranks as they are; the delegates send the
/// sum of their node, encoded, to the one that owns the partition, which merges the nodes in order and encodes once;
/// its code goes to the delegates and from them to their nodes, and all decode it. Only the code of a node's sum
/// travels between nodes, once per node and partition. With coded terms each rank encodes its own elements, delegates
/// send the codes of their node on side by side, and the owner merges all in rank order.
TaskGraph hierarchical_graph(const Exchange& exchange) {
  std::vector<Node> own;
  const std::span<const Node> nodes = nodes_of(exchange, own);
  const Node& node = node_with(nodes, exchange.self);
  TaskGraph::Builder graph;
  for (std::size_t p = 0; p < exchange.partitions; ++p) {
    const Slice slice = partition_slice(exchange.elements, exchange.partitions, p);
    if (slice.count > 0) HierarchicalLeg(graph, exchange, nodes, node, static_cast<std::uint32_t>(p), slice).add();
  }
  return std::move(graph).build();
}

}  // namespace casync
