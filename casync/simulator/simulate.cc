// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/simulate.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "casync/simulator/asynchronous_tasks.h"
#include "casync/simulator/checks.h"
#include "casync/simulator/engine/engine.h"
#include "casync/simulator/flat_tasks.h"
#include "casync/simulator/gossip_tasks.h"
#include "casync/simulator/outline.h"
#include "casync/simulator/rank_graphs.h"
#include "casync/simulator/rounds.h"
#include "casync/simulator/symmetry.h"
#include "casync/simulator/sync_mode.h"
#include "casync/strategies/owners.h"
#include "casync/strategies/reduce_scatter.h"

namespace casync {
namespace {

/// Checks the size ahead of building anything: a partition has at least two tasks on each rank, in every strategy.
Status check_size(const Scenario& scenario, const Symmetry& symmetry) {
  double tasks = 0;
  for (std::size_t g = 0; g < scenario.decisions.size(); ++g) {
    const auto partitions = static_cast<double>(std::max(scenario.decisions[g].partitions, 0));
    const auto elements = static_cast<double>(scenario.training.gradients[g].spec.elements());
    tasks += symmetry.period * std::max(1.0, 2 * std::min(partitions, elements));
  }
  if (tasks <= static_cast<double>(kMostSimulatedTasks)) return Status::ok();
  return too_many_tasks("at least " + std::to_string(static_cast<std::uint64_t>(std::min(tasks, 1e18))));
}

/// The owners as in a session.
std::vector<std::size_t> owners_of(const Scenario& scenario) {
  std::vector<OwnedGradient> owned;
  for (std::size_t g = 0; g < scenario.decisions.size(); ++g) {
    const GradientSpec& spec = scenario.training.gradients[g].spec;
    Decision decision = scenario.decisions[g];
    if (spec.scattered) scatter(scenario.topology.ranks, decision);
    owned.push_back({spec.name, spec.elements(), decision.partitions, decision.servers.count});
  }
  return first_owners(owned, scenario.topology);
}

Status add_exchanges(const Scenario& scenario, const Rounds& rounds, std::size_t at, std::size_t first_owner,
                     FlatTasks& flat) {
  std::vector<std::vector<TaskGraph>> exchanges;
  std::vector<HopCosts> costs;
  std::uint64_t tasks = flat.tasks().size();
  for (const Rounds::Exchange& exchange : rounds.exchanges) {
    auto graphs = rank_graphs(scenario, flat.symmetry().period, exchange.decision, exchange.elements,
                              first_owner + exchanges.size(), tasks);
    if (!graphs) return graphs.status();
    exchanges.push_back(std::move(*graphs));
    Result<HopCosts> made = hop_costs(exchange.decision, DType::kFloat32, scenario.profile, scenario.facts_of);
    if (!made) return made.status();
    costs.push_back(std::move(*made));
  }
  return flat.add_rounds(exchanges, rounds.exchanges.front().decision.strategy, rounds.turn_s,
                         static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(scenario.decisions.size()), costs);
}

Status add_gradient(const Scenario& scenario, std::size_t at, std::size_t first_owner, FlatTasks& flat) {
  Decision decision = scenario.decisions[at];
  const GradientSpec& spec = scenario.training.gradients[at].spec;
  const auto named = [&](const Status& status) {
    return Status(status.code(), "gradient " + spec.name + ": " + status.message());
  };
  const auto rounds = rounds_of(decision, spec, scenario.topology.ranks, scenario.profile, scenario.facts_of);
  if (!rounds) return named(rounds.status());
  if (*rounds) {
    const Status added = add_exchanges(scenario, **rounds, at, first_owner, flat);
    return added.is_ok() ? added : named(added);
  }
  const Result<HopCosts> costs = hop_costs(decision, spec.dtype, scenario.profile, scenario.facts_of);
  if (!costs) return named(costs.status());
  std::uint64_t tasks = flat.tasks().size();
  const auto graphs = rank_graphs(scenario, flat.symmetry().period, decision, spec.elements(), first_owner, tasks,
                                  spec.scattered ? &reduce_scatter_graph : nullptr);
  if (!graphs) return named(graphs.status());
  const Status added = flat.add(*graphs, decision.strategy, static_cast<std::uint32_t>(at),
                                static_cast<std::uint32_t>(scenario.decisions.size()), *costs);
  return added.is_ok() ? added : named(added);
}

/// Simulates a training in which every step exchanges.
Result<Simulation> simulate_exchanges(const Scenario& scenario, const SimulationOptions& options) {
  const Result<Symmetry> symmetry = symmetry_of(scenario, options);
  if (!symmetry) return symmetry.status();
  CASYNC_RETURN_IF_ERROR(check_size(scenario, *symmetry));
  const std::vector<std::size_t> owners = owners_of(scenario);
  FlatTasks flat(*symmetry);
  for (std::size_t g = 0; g < scenario.decisions.size(); ++g) {
    CASYNC_RETURN_IF_ERROR(add_gradient(scenario, g, owners[g], flat));
  }
  return engine::Engine(scenario, options, flat, {}).run();
}

/// The decisions as in a session: gradients that a codec that exchanges does not take are sent as they are.
Result<Scenario> as_in_a_session(Scenario scenario) {
  for (std::size_t g = 0; g < scenario.decisions.size(); ++g) {
    const GradientSpec& spec = scenario.training.gradients[g].spec;
    const Result<std::optional<Rounds>> rounds =
        rounds_of(scenario.decisions[g], spec, scenario.topology.ranks, scenario.profile, scenario.facts_of);
    if (!rounds) return Status(rounds.status().code(), "gradient " + spec.name + ": " + rounds.status().message());
  }
  return scenario;
}

/// Simulates ranks that exchange with their neighbours.
Result<Simulation> simulate_gossip(const Scenario& scenario, const SimulationOptions& options) {
  const int ranks = scenario.topology.ranks;
  CASYNC_RETURN_IF_ERROR(check_size(scenario, {ranks, ranks}));
  FlatTasks flat(Symmetry{ranks, ranks});
  CASYNC_RETURN_IF_ERROR(add_gossip_tasks(scenario, flat));
  Drift drift;
  drift.pairings = gossip_pairings(scenario, options.steps);
  return engine::Engine(scenario, options, flat, std::move(drift)).run();
}

Result<Simulation> simulate_asynchronous(const Scenario& scenario, const SimulationOptions& options) {
  const int ranks = scenario.topology.ranks;
  CASYNC_RETURN_IF_ERROR(check_size(scenario, {ranks, ranks}));
  FlatTasks flat(Symmetry{ranks, ranks});
  AnsweringOwners owners(*scenario.mode.asynchronous, scenario.profile.memory_bytes_per_second);
  CASYNC_RETURN_IF_ERROR(add_asynchronous_tasks(scenario, owners_of(scenario), flat, owners));
  Drift drift;
  drift.owners = &owners;
  drift.contributes = contributing_ranks(scenario);
  return engine::Engine(scenario, options, flat, std::move(drift)).run();
}

bool ranks_differ(const Scenario& scenario, const SimulationOptions& options) {
  return !options.slowness.empty() || options.jitter > 0 || !scenario.training.is_alike();
}

}  // namespace

bool drifts(const Scenario& scenario, const SimulationOptions& options) {
  const SyncMode& mode = scenario.mode;
  return mode.is_gossip() || mode.is_asynchronous() || (mode.staleness > 1 && ranks_differ(scenario, options));
}

int simulated_steps(const Scenario& scenario, const SimulationOptions& options) {
  if (!drifts(scenario, options) && scenario.training.jitter == 0) return options.steps;
  const bool ring = scenario.mode.neighbours == Neighbours::kRing;
  return std::max({options.steps, kLeastDrawnSteps, ring ? 2 * scenario.topology.ranks : 0});
}

Result<Simulation> simulate(const Scenario& scenario, const SimulationOptions& options) {
  CASYNC_RETURN_IF_ERROR(check_scenario(scenario, options));
  SimulationOptions enough = options;
  enough.steps = simulated_steps(scenario, options);
  if (scenario.mode == SyncMode{}) return simulate_exchanges(scenario, enough);
  Result<Scenario> session = as_in_a_session(scenario);
  if (!session) return session.status();
  if (scenario.mode.is_asynchronous()) return simulate_asynchronous(*session, enough);
  Exchanges exchanges = exchanges_of(scenario.training, scenario.mode);
  session->training = std::move(exchanges.training);
  const bool gossip = scenario.mode.is_gossip();
  Result<Simulation> simulation = gossip ? simulate_gossip(*session, enough) : simulate_exchanges(*session, enough);
  if (!simulation) return simulation;
  return mean_of_steps(std::move(*simulation), exchanges.steps);
}

}  // namespace casync
