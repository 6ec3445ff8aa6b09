// SPDX-License-Identifier: Apache-2.0
#include "casync/strategies/strategy.h"

#include <array>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/nearest.h"
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
  bool merges_at_each_hop;  ///< the first hop's codec must not add an error when it merges
  bool has_second_hop;      ///< a codec can be named for it
  bool merges_elements;     ///< of ranks that have not encoded them
  TaskGraph (*graph)(const Exchange&);
};

// The one list of strategies: a new one is a file and a line here.
constexpr std::array kStrategies = {
    Strategy{StrategyKind::kPs, "ps", false, true, false, &ps_graph},
    Strategy{StrategyKind::kRing, "ring", true, true, true, &ring_graph},
    Strategy{StrategyKind::kAllGather, "all_gather", false, false, false, &all_gather_graph},
    Strategy{StrategyKind::kTree, "tree", true, true, true, &tree_graph},
    Strategy{StrategyKind::kHierarchical, "hierarchical", false, true, true, &hierarchical_graph},
};

const Strategy& strategy_of(StrategyKind kind) {
  for (const Strategy& strategy : kStrategies) {
    if (strategy.kind == kind) return strategy;
  }
  check_failed("a StrategyKind is in kStrategies", __FILE__, __LINE__);
}

std::string quoted(std::string_view name) { return "`" + std::string(name) + "`"; }

Status can_carry(const Strategy& strategy, const Decision& decision, const CodecTraits& traits) {
  const std::string name = "strategy " + quoted(strategy.name), codec = "codec " + quoted(decision.codec.name);
  const std::string second = quoted(decision.second_hop.name);
  if (strategy.merges_at_each_hop && !traits.exact_merge) {
    return plan_error(name + " merges again at each hop, and " + codec + " (second_hop " + second +
                      ") adds an error each time; use strategy `ps`, or codec `none` with second_hop " + second);
  }
  if (strategy.merges_elements && traits.coded_terms) {
    return plan_error(name + " adds up elements that no rank has encoded, and " + codec +
                      " needs each rank to encode its own; use strategy `ps` or `all_gather`");
  }
  if (!strategy.has_second_hop && !(decision.second_hop == decision.codec)) {
    return plan_error(name + " has one hop only, in codec " + quoted(text_of(decision.codec)) +
                      ", and nothing travels in second_hop " + quoted(text_of(decision.second_hop)) +
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
  CASYNC_RETURN_IF_ERROR(can_carry(strategy, decision, *traits));
  return strategy.graph({.elements = elements,
                         .partitions = static_cast<std::size_t>(decision.partitions),
                         .ranks = topology.ranks,
                         .self = self,
                         .first_owner = first_owner,
                         .coded_terms = traits->coded_terms,
                         .node_of = topology.node_of});
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
