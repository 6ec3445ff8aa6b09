// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/simulate.h"

#include <algorithm>
#include <string>
#include <utility>

#include "casync/simulator/checks.h"
#include "casync/simulator/engine.h"
#include "casync/simulator/flat_tasks.h"
#include "casync/simulator/outline.h"
#include "casync/simulator/rounds.h"
#include "casync/simulator/symmetry.h"
#include "casync/simulator/sync_mode.h"
#include "casync/strategies/owners.h"

namespace casync {
namespace {

Status too_many(const std::string& how_many) {
  return invalid_argument(how_many + " tasks in a step, expected at most " + std::to_string(kMostSimulatedTasks) +
                          ": simulate fewer ranks, or larger partitions");
}

/// Checks the size before anything is built: a partition has at least two tasks on each rank, in every strategy.
Status check_size(const Scenario& scenario, const Symmetry& symmetry) {
  double tasks = 0;
  for (std::size_t g = 0; g < scenario.decisions.size(); ++g) {
    const auto partitions = static_cast<double>(std::max(scenario.decisions[g].partitions, 0));
    const auto elements = static_cast<double>(scenario.training.gradients[g].spec.elements());
    tasks += symmetry.period * std::max(1.0, 2 * std::min(partitions, elements));
  }
  if (tasks <= static_cast<double>(kMostSimulatedTasks)) return Status::ok();
  return too_many("at least " + std::to_string(static_cast<std::uint64_t>(std::min(tasks, 1e18))));
}

/// The owners as in a session.
std::vector<std::size_t> owners_of(const Scenario& scenario) {
  std::vector<OwnedGradient> owned;
  for (std::size_t g = 0; g < scenario.decisions.size(); ++g) {
    const GradientSpec& spec = scenario.training.gradients[g].spec;
    const Decision& decision = scenario.decisions[g];
    owned.push_back({spec.name, spec.elements(), decision.partitions, decision.servers.count});
  }
  return first_owners(owned, scenario.topology);
}

/// Graphs of all ranks, or of those that stand for all. Adds their tasks to `tasks`.
Result<std::vector<TaskGraph>> graphs_of(const Scenario& scenario, const Symmetry& symmetry, const Decision& decision,
                                         Elements elements, std::size_t first_owner, std::uint64_t& tasks) {
  const auto traits_of = [&](const CodecChoice& choice) -> Result<CodecTraits> {
    const Result<CodecFacts> facts = scenario.facts_of(choice);
    if (!facts) return facts.status();
    return facts->traits;
  };
  std::vector<TaskGraph> graphs;
  for (Rank rank = 0; rank < symmetry.period; ++rank) {
    Result<TaskGraph> graph = make_graph(decision, elements, scenario.topology, rank, first_owner, traits_of);
    if (!graph) return graph.status();
    tasks += graph->tasks().size();
    if (tasks > kMostSimulatedTasks) return too_many("more");
    graphs.push_back(std::move(*graph));
  }
  return graphs;
}

Status add_exchanges(const Scenario& scenario, const Rounds& rounds, std::size_t at, std::size_t first_owner,
                     FlatTasks& flat) {
  std::vector<std::vector<TaskGraph>> exchanges;
  std::vector<HopCosts> costs;
  std::uint64_t tasks = flat.tasks().size();
  for (const Rounds::Exchange& exchange : rounds.exchanges) {
    auto graphs = graphs_of(scenario, flat.symmetry(), exchange.decision, exchange.elements,
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
  const auto graphs = graphs_of(scenario, flat.symmetry(), decision, spec.elements(), first_owner, tasks);
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
  return Engine(scenario, options, flat).run();
}

}  // namespace

Result<Simulation> simulate(const Scenario& scenario, const SimulationOptions& options) {
  CASYNC_RETURN_IF_ERROR(check_scenario(scenario, options));
  if (scenario.mode == SyncMode{}) return simulate_exchanges(scenario, options);
  Exchanges exchanges = exchanges_of(scenario.training, scenario.mode);
  Scenario exchanging = scenario;
  exchanging.training = std::move(exchanges.training);
  Result<Simulation> simulation = simulate_exchanges(exchanging, options);
  if (!simulation) return simulation;
  return mean_of_steps(std::move(*simulation), exchanges.steps);
}

}  // namespace casync
