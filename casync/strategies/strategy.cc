// SPDX-License-Identifier: Apache-2.0
#include "casync/strategies/strategy.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/nearest.h"
#include "casync/patterns/tree.h"
#include "casync/strategies/all_gather.h"
#include "casync/strategies/hierarchical.h"
#include "casync/strategies/ps.h"
#include "casync/strategies/ring.h"
#include "casync/strategies/tree.h"

namespace casync {
namespace {

struct Strategy {
  StrategyKind kind;
  std::string_view name;
  bool has_second_hop;  ///< a codec can be named for it
  TaskGraph (*graph)(const Exchange&);
};

// The one list of strategies: a new one is a file and a line here.
constexpr std::array kStrategies = {
    Strategy{StrategyKind::kPs, "ps", true, &ps_graph},
    Strategy{StrategyKind::kRing, "ring", true, &ring_graph},
    Strategy{StrategyKind::kAllGather, "all_gather", false, &all_gather_graph},
    Strategy{StrategyKind::kTree, "tree", true, &tree_graph},
    Strategy{StrategyKind::kHierarchical, "hierarchical", true, &hierarchical_graph},
};

const Strategy& strategy_of(StrategyKind kind) {
  for (const Strategy& strategy : kStrategies) {
    if (strategy.kind == kind) return strategy;
  }
  check_failed("a StrategyKind is in kStrategies", __FILE__, __LINE__);
}

std::string quoted(std::string_view name) { return "`" + std::string(name) + "`"; }

Status can_carry(const Strategy& strategy, const Decision& decision) {
  if (!strategy.has_second_hop && !(decision.second_hop == decision.codec)) {
    return plan_error("strategy " + quoted(strategy.name) + " has one hop only, in codec " +
                      quoted(text_of(decision.codec)) + ", and nothing travels in second_hop " +
                      quoted(text_of(decision.second_hop)) +
                      "; name the codec beside the strategy, which then stands for both hops, or use strategy `ps`");
  }
  return Status::ok();
}

Status check(const Topology& topology, Rank self) {
  if (topology.ranks < 1 || self < 0 || self >= topology.ranks) {
    return invalid_argument("rank " + std::to_string(self) + " of a group of " + std::to_string(topology.ranks));
  }
  if (topology.node_of.empty() || topology.node_of.size() == static_cast<std::size_t>(topology.ranks)) {
    return Status::ok();
  }
  return invalid_argument("nodes of " + std::to_string(topology.node_of.size()) + " ranks in a group of " +
                          std::to_string(topology.ranks));
}

}  // namespace

Result<TaskGraph> make_graph(const Decision& decision, Elements elements, const Topology& topology, Rank self,
                             std::size_t first_owner, const CodecTraitsOf& traits_of) {
  CASYNC_RETURN_IF_ERROR(check(topology, self));
  if (decision.partitions < 1) {
    return plan_error(std::to_string(decision.partitions) + " partitions; a gradient has at least 1");
  }
  const Strategy& strategy = strategy_of(decision.strategy);
  const Result<CodecTraits> traits = traits_of(decision.codec);
  if (!traits) return traits.status();
  CASYNC_RETURN_IF_ERROR(can_carry(strategy, decision));
  return strategy.graph({.elements = elements,
                         .partitions = static_cast<std::size_t>(decision.partitions),
                         .ranks = topology.ranks,
                         .self = self,
                         .first_owner = first_owner,
                         .coded_terms = traits->coded_terms,
                         .votes = traits->votes,
                         .node_of = topology.node_of});
}

double encodings_on_the_way(StrategyKind strategy, int ranks, const CodecTraits& traits) {
  if (traits.exact_merge || traits.coded_terms) return 1;
  const double others = ranks - 1;  // of N ranks each partition has an owner, whose elements need no code
  if (strategy == StrategyKind::kRing) return std::max(1.0, others / 2);
  if (strategy == StrategyKind::kTree) return std::max(1.0, others / ranks * tree::mean_size(ranks));
  return 1;
}

std::string_view name_of(StrategyKind kind) { return strategy_of(kind).name; }

Result<StrategyKind> strategy_from(std::string_view name) {
  std::vector<std::string_view> known;
  std::string names;
  for (const Strategy& strategy : kStrategies) {
    if (strategy.name == name) return strategy.kind;
    known.push_back(strategy.name);
    names += (names.empty() ? "" : ", ") + quoted(strategy.name);
  }
  return plan_error("no strategy " + quoted(name) + hint(name, known) + "; there are " + names);
}

}  // namespace casync
