// SPDX-License-Identifier: Apache-2.0
#include "casync/strategies/strategy.h"

#include <array>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/nearest.h"
#include "casync/strategies/ps.h"
#include "casync/strategies/ring.h"

namespace casync {
namespace {

struct Strategy {
  StrategyKind kind;
  std::string_view name;
  bool merges_at_each_hop;  ///< the first hop's codec must not add an error when it merges
  TaskGraph (*graph)(const Exchange&);
};

// The one list of strategies: a new one is a file and a line here.
constexpr std::array kStrategies = {
    Strategy{StrategyKind::kPs, "ps", false, &ps_graph},
    Strategy{StrategyKind::kRing, "ring", true, &ring_graph},
};

const Strategy& strategy_of(StrategyKind kind) {
  for (const Strategy& strategy : kStrategies) {
    if (strategy.kind == kind) return strategy;
  }
  check_failed("a StrategyKind is in kStrategies", __FILE__, __LINE__);
}

Status can_carry(const Strategy& strategy, const Decision& decision, const CodecTraitsOf& traits_of) {
  if (!strategy.merges_at_each_hop) return Status::ok();
  const Result<CodecTraits> traits = traits_of(decision.codec);
  if (!traits) return traits.status();
  if (traits->exact_merge) return Status::ok();
  const std::string codec = "`" + decision.codec.name + "`";
  const std::string second = "`" + decision.second_hop.name + "`";
  return plan_error("strategy `" + std::string(strategy.name) + "` merges again at each hop, and codec " + codec +
                    " (second_hop " + second + ") adds an error each time; use strategy `ps`, or codec `none` with " +
                    "second_hop " + second);
}

}  // namespace

Result<TaskGraph> make_graph(const Decision& decision, Elements elements, const Topology& topology, Rank self,
                             std::size_t first_owner, const CodecTraitsOf& traits_of) {
  if (topology.ranks < 1 || self < 0 || self >= topology.ranks) {
    return invalid_argument("rank " + std::to_string(self) + " of a group of " + std::to_string(topology.ranks));
  }
  if (decision.partitions < 1) {
    return plan_error(std::to_string(decision.partitions) + " partitions; a gradient has at least 1");
  }
  const Strategy& strategy = strategy_of(decision.strategy);
  CASYNC_RETURN_IF_ERROR(can_carry(strategy, decision, traits_of));
  const Result<CodecTraits> traits = traits_of(decision.codec);
  if (!traits) return traits.status();
  return strategy.graph({.elements = elements,
                         .partitions = static_cast<std::size_t>(decision.partitions),
                         .ranks = topology.ranks,
                         .self = self,
                         .first_owner = first_owner,
                         .coded_terms = traits->coded_terms});
}

std::string_view name_of(StrategyKind kind) { return strategy_of(kind).name; }

Result<StrategyKind> strategy_from(std::string_view name) {
  std::vector<std::string_view> known;
  std::string names;
  for (const Strategy& strategy : kStrategies) {
    if (strategy.name == name) return strategy.kind;
    known.push_back(strategy.name);
    names += (names.empty() ? "`" : ", `") + std::string(strategy.name) + "`";
  }
  return plan_error("no strategy `" + std::string(name) + "`" + hint(name, known) + "; there are " + names);
}

}  // namespace casync
