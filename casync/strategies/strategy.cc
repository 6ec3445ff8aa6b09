// SPDX-License-Identifier: Apache-2.0
#include "casync/strategies/strategy.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/nearest.h"
#include "casync/patterns/delegates.h"
#include "casync/patterns/servers.h"
#include "casync/strategies/graphs.h"

namespace casync {
namespace {

using Alike = Strategy::Alike;

constexpr Strategy kStrategies[] = {
#define CASYNC_STRATEGY(kind_of, word, ...) \
  {.kind = StrategyKind::kind_of, .name = #word, .graph = &word##_graph, __VA_ARGS__},
#include "casync/model/strategies.def"
};

Status can_carry(const Strategy& strategy, const Decision& decision) {
  if (!strategy.second_hop && !(decision.second_hop == decision.codec)) {
    return plan_error("strategy " + backquoted(strategy.name) + " has one hop only, in codec " +
                      backquoted(text_of(decision.codec)) + ", and nothing travels in second_hop " +
                      backquoted(text_of(decision.second_hop)) +
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

std::string text_of(const Servers& servers) {
  return std::to_string(servers.count) + (servers.dedicated ? " dedicated" : "") +
         (servers.count == 1 ? " server" : " servers");
}

Status check_servers(const Servers& servers, StrategyKind strategy, int ranks) {
  if (servers.count == 0 && !servers.dedicated) return Status::ok();
  const int most = servers.dedicated ? ranks - 1 : ranks;
  const std::string what = text_of(servers);
  if (strategy != StrategyKind::kPs) {
    return plan_error(what + " beside strategy " + backquoted(name_of(strategy)) +
                      ", which has none; use strategy `ps`");
  }
  if (servers.count >= 1 && servers.count <= most) return Status::ok();
  return plan_error(what + " in a group of " + std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks") +
                    (most < 1 ? ": nobody is left to contribute" : ", expected 1 to " + std::to_string(most)));
}

MakesGraph graph_maker_of(const Decision& decision, Elements elements, int ranks) {
  const auto is_plain = [](const CodecChoice& choice) { return choice == CodecChoice{}; };
  const bool exchanged = ranks == 2 && decision.strategy == StrategyKind::kPs && decision.partitions == 1 &&
                         decision.servers == Servers{} && is_plain(decision.codec) && is_plain(decision.second_hop) &&
                         elements * sizeof(float) > kBundledGradientBytes;
  return exchanged ? &all_gather_graph : strategy_of(decision.strategy).graph;
}

Result<TaskGraph> make_graph(const Decision& decision, Elements elements, const Topology& topology, Rank self,
                             std::size_t first_owner, const CodecTraitsOf& traits_of) {
  return make_graph(decision, elements, topology, self, first_owner, traits_of,
                    graph_maker_of(decision, elements, topology.ranks));
}

Result<TaskGraph> make_graph(const Decision& decision, Elements elements, const Topology& topology, Rank self,
                             std::size_t first_owner, const CodecTraitsOf& traits_of, MakesGraph graph) {
  CASYNC_RETURN_IF_ERROR(check(topology, self));
  return make_graph(decision, elements, topology, self, first_owner, traits_of, graph,
                    shared_parts(decision, topology));
}

Result<TaskGraph> make_graph(const Decision& decision, Elements elements, const Topology& topology, Rank self,
                             std::size_t first_owner, const CodecTraitsOf& traits_of, MakesGraph graph,
                             const SharedParts& shared) {
  CASYNC_RETURN_IF_ERROR(check(topology, self));
  if (decision.partitions < 1) {
    return plan_error(std::to_string(decision.partitions) + " partitions; a gradient has at least 1");
  }
  CASYNC_RETURN_IF_ERROR(check_servers(decision.servers, decision.strategy, topology.ranks));
  const Strategy& strategy = strategy_of(decision.strategy);
  const Result<CodecTraits> traits = traits_of(decision.codec);
  if (!traits) return traits.status();
  CASYNC_RETURN_IF_ERROR(can_carry(strategy, decision));
  return graph({.elements = elements,
                .partitions = static_cast<std::size_t>(decision.partitions),
                .ranks = topology.ranks,
                .self = self,
                .first_owner = first_owner,
                .coded_terms = traits->coded_terms,
                .votes = traits->votes,
                .node_of = topology.node_of,
                .nodes = shared.nodes,
                .servers = shared.servers,
                .dedicated = decision.servers.dedicated});
}

SharedParts shared_parts(const Decision& decision, const Topology& topology) {
  SharedParts shared;
  if (owner_count(decision.servers, topology.ranks) < topology.ranks) {
    shared.servers = server_ranks(topology.node_of, topology.ranks, decision.servers.count);
  }
  if (strategy_of(decision.strategy).levels) shared.nodes = nodes_of(topology.node_of, topology.ranks);
  return shared;
}

double encodings_on_the_way(StrategyKind strategy, int ranks, const CodecTraits& traits) {
  if (traits.exact_merge || traits.coded_terms) return 1;
  const auto encodings = strategy_of(strategy).encodings;
  return encodings != nullptr ? std::max(1.0, encodings(ranks)) : 1;
}

std::span<const Strategy> strategies() { return kStrategies; }

const Strategy& strategy_of(StrategyKind kind) {
  for (const Strategy& strategy : kStrategies) {
    if (strategy.kind == kind) return strategy;
  }
  check_failed("a StrategyKind is in strategies.def", __FILE__, __LINE__);
}

std::string_view name_of(StrategyKind kind) { return strategy_of(kind).name; }

std::string strategy_names() {
  std::string names;
  for (const Strategy& strategy : kStrategies) {
    const bool is_last = &strategy == std::end(kStrategies) - 1;
    names += (names.empty() ? "" : is_last ? " or " : ", ") + std::string(strategy.name);
  }
  return names;
}

bool has_levels(const Topology& topology) { return topology.nodes() > 1 && topology.nodes() < topology.ranks; }

Result<StrategyKind> strategy_from(std::string_view name) {
  std::vector<std::string_view> known;
  std::string names;
  for (const Strategy& strategy : kStrategies) {
    if (strategy.name == name) return strategy.kind;
    known.push_back(strategy.name);
    names += (names.empty() ? "" : ", ") + backquoted(strategy.name);
  }
  return plan_error("no strategy " + backquoted(name) + hint(name, known) + "; there are " + names);
}

}  // namespace casync
