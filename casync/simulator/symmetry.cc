// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/symmetry.h"

#include <algorithm>

#include "casync/patterns/partition.h"
#include "casync/simulator/rounds.h"

namespace casync {
namespace {

/// Number of places that moves ranks onto ranks with peers as near: 1 if all are equally near, else a node.
int period_of(const Topology& topology) {
  if (topology.nodes() == 1) return 1;
  const auto next = std::find(topology.node_of.begin(), topology.node_of.end(), 1);
  const auto each = static_cast<int>(next - topology.node_of.begin());
  for (Rank rank = 0; rank < topology.ranks; ++rank) {
    if (topology.node_of[static_cast<std::size_t>(rank)] != rank / each) return topology.ranks;
  }
  return topology.ranks % each == 0 ? each : topology.ranks;
}

/// Returns true if all ranks own equally much of each round of partitions: partitions with one unit more come first, a
/// partial unit last.
bool owns_alike(Elements elements, std::size_t partitions, std::size_t ranks) {
  return partitions % ranks == 0 && elements % (ranks * partition_unit(elements, partitions)) == 0;
}

/// Returns true if the graphs of ranks differ in nothing but the names of ranks and partitions.
bool is_symmetric(const Decision& decision, Elements elements, int ranks) {
  if (ranks == 1 || elements == 0) return true;
  const auto partitions = static_cast<std::size_t>(std::max(decision.partitions, 1));
  switch (strategy_of(decision.strategy).alike) {
    case Strategy::Alike::kAlways: return true;
    case Strategy::Alike::kByTurn:
      return owner_count(decision.servers, ranks) == ranks &&
             owns_alike(elements, partitions, static_cast<std::size_t>(ranks));
    case Strategy::Alike::kNever: return false;
  }
  return false;
}

/// Visits the decision and elements of each exchange, and if its gradient is scattered: one for a gradient, more if its
/// codec exchanges within a step.
template <typename Visit>
Status for_each_exchange(const Scenario& scenario, Visit visit) {
  for (std::size_t g = 0; g < scenario.decisions.size(); ++g) {
    Decision decision = scenario.decisions[g];
    const GradientSpec& spec = scenario.training.gradients[g].spec;
    const auto rounds = rounds_of(decision, spec, scenario.topology.ranks, scenario.profile, scenario.facts_of);
    if (!rounds) return Status(rounds.status().code(), "gradient " + spec.name + ": " + rounds.status().message());
    if (!*rounds) {
      visit(decision, spec.elements(), spec.scattered);
      continue;
    }
    for (const Rounds::Exchange& exchange : (*rounds)->exchanges) visit(exchange.decision, exchange.elements, false);
  }
  return Status::ok();
}

}  // namespace

std::uint32_t Symmetry::partition_moved_with(Rank other, std::uint32_t partition, StrategyKind strategy) const {
  if (strategy_of(strategy).alike == Strategy::Alike::kAlways || is_trivial()) return partition;
  const auto place = static_cast<Rank>(partition % static_cast<std::uint32_t>(ranks));
  return partition - static_cast<std::uint32_t>(place) + static_cast<std::uint32_t>(moved_with(other, place));
}

Result<Symmetry> symmetry_of(const Scenario& scenario, const SimulationOptions& options) {
  const int ranks = scenario.topology.ranks;
  if (options.every_rank || options.spans || options.jitter > 0 || !options.slowness.empty() ||
      !scenario.training.is_alike()) {
    return Symmetry{ranks, ranks};
  }
  Symmetry found{ranks, period_of(scenario.topology)};
  CASYNC_RETURN_IF_ERROR(for_each_exchange(scenario, [&](const Decision& decision, Elements elements, bool scattered) {
    if (scattered || !is_symmetric(decision, elements, ranks)) found.period = ranks;
  }));
  return found;
}

Result<double> tasks_at_most(const Scenario& scenario, const Symmetry& symmetry) {
  const double ranks = symmetry.ranks, nodes = scenario.topology.nodes();
  double tasks = 0;
  CASYNC_RETURN_IF_ERROR(for_each_exchange(scenario, [&](const Decision& decision, Elements elements, bool) {
    const double partitions = std::min<double>(std::max(decision.partitions, 1), static_cast<double>(elements));
    // A rank exchanges with all, or it encodes, sends, receives and decodes, and another receives from it and sends
    // to it. A codec that exchanges has a turn ahead and one after. Codes that travel side by side are
    // at most all, coming and going. Nodes that gather have a rank each that exchanges with those of all others.
    const auto facts = scenario.facts_of(decision.codec);
    const Strategy& strategy = strategy_of(decision.strategy);
    const bool side_by_side = facts && facts->traits.coded_terms && strategy.relays;
    const bool all = side_by_side || strategy.alike == Strategy::Alike::kAlways;
    const double among_nodes = strategy.levels && !strategy.second_hop ? 2 * nodes * nodes / ranks : 0;
    tasks += symmetry.period * (2 + partitions * (all ? 2 * ranks + 1 : 6 + among_nodes));
  }));
  return tasks;
}

}  // namespace casync
