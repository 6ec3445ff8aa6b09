// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/outline.h"

#include <algorithm>

#include "casync/patterns/binary_tree.h"
#include "casync/patterns/tree.h"
#include "casync/simulator/outlines/outlines.h"
#include "casync/strategies/reduce_scatter.h"
#include "casync/strategies/strategy.h"

namespace casync {
namespace {

void add_stages(OutlineWriter& out, StrategyKind strategy, bool coded_terms) {
  switch (strategy) {
#define CASYNC_STRATEGY(kind, word, ...)     \
  case StrategyKind::kind: {                 \
    return word##_outline(out, coded_terms); \
  }
#include "casync/model/strategies.def"
  }
}

/// The strategy whose graphs the gradient has: graph_maker_of().
StrategyKind strategy_of_graph(const Decision& decision, Elements elements, int ranks) {
  const bool gathers = graph_maker_of(decision, elements, ranks) == strategy_of(StrategyKind::kAllGather).graph;
  return gathers ? StrategyKind::kAllGather : decision.strategy;
}

/// Mean number of messages each way between nodes, over the roots.
double double_tree_crossing(int ranks, int nodes) {
  const int each = ranks / nodes;
  int crossing = 0;
  for (Rank root = 0; nodes > 1 && root < each; ++root) {
    for (int place = 1; place < ranks; ++place) {
      const binary_tree::Node child = binary_tree::with_place(place, ranks);
      const binary_tree::Node parent = binary_tree::with_place(child.parent, ranks);
      const Rank from = binary_tree::rank_of(child.number(), root, ranks);
      const Rank to = binary_tree::rank_of(parent.number(), root, ranks);
      if (from / each != to / each) ++crossing;
    }
  }
  return static_cast<double>(crossing) / each;
}

}  // namespace

void repeat(Stage& stage, double times) {
  for (double* busy : {&stage.seconds, &stage.tasks_s, &stage.shared_s, &stage.receive_s, &stage.work.send_s,
                       &stage.work.receive_s, &stage.bytes, &stage.messages}) {
    *busy *= times;
  }
  stage.message_s = std::min(stage.message_s, stage.seconds);
  stage.work_each.send_s = std::min(stage.work_each.send_s, stage.work.send_s);
  stage.work_each.receive_s = std::min(stage.work_each.receive_s, stage.work.receive_s);
}

double Outline::codec_s() const {
  double seconds = 0;
  for (const Stage& stage : stages) {
    if (stage.kind != Stage::Kind::kSend) seconds += stage.seconds * rounds * (stage.gathers ? 1 : lumps);
  }
  return seconds;
}

double Outline::port_s(bool between) const {
  double seconds = 0;
  for (const Stage& stage : stages) {
    if (stage.kind != Stage::Kind::kSend || stage.between != between) continue;
    seconds += stage.seconds * rounds * (stage.gathers ? 1 : lumps);
  }
  return seconds;
}

double Outline::messages_s() const {
  double seconds = 0;
  for (const Stage& stage : stages) {
    seconds += (stage.work.send_s + stage.work.receive_s) * rounds * (stage.gathers ? 1 : lumps);
  }
  return seconds;
}

double Outline::alone_s() const {
  double seconds = 0, longest = 0;
  for (const Stage& stage : stages) {
    const double all = stage.seconds * rounds * (stage.gathers ? 1 : lumps);
    seconds += stage.seconds + stage.latency_s + stage.then_s;
    longest = std::max(longest, all - stage.seconds);
  }
  return seconds + longest;
}

bool alike(const Topology& topology) {
  if (topology.node_of.empty()) return true;
  std::vector<int> sizes(static_cast<std::size_t>(topology.nodes()));
  for (const int node : topology.node_of) ++sizes[static_cast<std::size_t>(node)];
  return std::equal(sizes.begin() + 1, sizes.end(), sizes.begin());
}

AlikeRanks alike_ranks(const Topology& topology) {
  AlikeRanks made{topology.ranks, topology.nodes(), 0};
  if (made.nodes < 1 || made.ranks < 1) return made;
  const int each = made.ranks / made.nodes;
  // Nodes of which every rank roots as many trees still have ranks that stand between their node and others more often.
  std::vector<double> out(static_cast<std::size_t>(each)), in(out);
  for (Rank root = 0; made.nodes > 1 && root < each; ++root) {
    for (int place = 1; place < made.ranks; ++place) {
      const Rank child = tree::at(place, root, made.ranks), parent = tree::at(tree::parent(place), root, made.ranks);
      if (child / each == parent / each) continue;
      made.tree_crossing = std::max({made.tree_crossing, out[static_cast<std::size_t>(child % each)] += 1,
                                     in[static_cast<std::size_t>(parent % each)] += 1});
    }
  }
  made.double_tree_crossing = double_tree_crossing(made.ranks, made.nodes);
  return made;
}

Outline outline(const Decision& decision, Elements elements, const AlikeRanks& ranks, const Profile& profile,
                const HopCosts& costs, double task_s, bool scattered) {
  if (elements == 0) return {};
  OutlineWriter out(decision, elements, ranks, profile, costs, task_s);
  const CodecCosts& first = costs[static_cast<std::size_t>(Hop::kFirst)];
  const CodecTraits& traits = first.facts().traits;
  if (scattered) {
    reduce_scatter_outline(out, scattered_traits(traits).coded_terms);
  } else {
    add_stages(out, strategy_of_graph(decision, elements, ranks.ranks), traits.coded_terms);
  }
  return std::move(out).finish();
}

Result<HopCosts> hop_costs(const Decision& decision, DType dtype, const Profile& profile,
                           const CodecFactsOf& facts_of) {
  Result<CodecFacts> first = facts_of(decision.codec);
  if (!first) return first.status();
  Result<CodecFacts> second = facts_of(decision.second_hop);
  if (!second) return second.status();
  const auto traits_of = [&](const CodecChoice&) -> Result<CodecTraits> { return first->traits; };
  Decision alone = decision;
  alone.servers = {};
  const Result<TaskGraph> carried = make_graph(alone, 0, Topology::flat(1), 0, 0, traits_of);
  if (!carried) return carried.status();
  // Elements as they are, and sums, are only ever moved. A merge reads what is not encoded as float32, too.
  const CodecFacts raw{"", {.bits_per_element = 8.0 * static_cast<double>(bytes_of(dtype))}, true, 0};
  CodecFacts sum{"", {}, true, 0};
  sum.own = true;
  return HopCosts{CodecCosts(std::move(*first), profile), CodecCosts(std::move(*second), profile),
                  CodecCosts(raw, profile), CodecCosts(sum, profile)};
}

}  // namespace casync
