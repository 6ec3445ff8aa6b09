// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/gossip_tasks.h"

#include <span>
#include <string>

#include "casync/patterns/pairs.h"
#include "casync/simulator/outline.h"
#include "casync/simulator/rank_graphs.h"
#include "casync/simulator/rounds.h"
#include "casync/strategies/gossip.h"

namespace casync {
namespace {

constexpr int kMostPairedRanks = 64;  // as in a session

bool is_exact(const Decision& decision, DType dtype) {
  const CodecChoice exact = plain_codec(dtype);
  return decision.codec == exact && decision.second_hop == exact;
}

/// The rules of a session (runtime/session/inner_runs.cc, difference_gossip.cc).
Status check_gossip(const Scenario& scenario, const Decision& decision, DType dtype) {
  if (decision.servers.dedicated) {
    return plan_error(
        "gossip averages the parameters of all ranks, and dedicated servers have none: leave `dedicated` "
        "out of the plan");
  }
  if (is_exact(decision, dtype)) return Status::ok();
  const Result<CodecFacts> facts = scenario.facts_of(decision.codec);
  if (!facts) return facts.status();
  const std::string codec = "codec `" + facts->name + "`";
  if (!(decision.second_hop == decision.codec)) {
    return plan_error("gossip has one hop, and second_hop `" + text_of(decision.second_hop) + "` is not `" +
                      text_of(decision.codec) + "`: leave second_hop out");
  }
  if (scenario.mode.neighbours == Neighbours::kPairs) {
    return plan_error("gossip in pairs averages parameters as they are, and " + codec +
                      " loses a part of each: use codec `none`, or neighbours: ring");
  }
  if (facts->rounds || facts->traits.coded_terms || facts->traits.has_result) {
    return plan_error(codec + " needs what all ranks have sent, and gossip sends differences to copies, which decode " +
                      "them by themselves: use a codec that keeps a residual or nothing");
  }
  if (!facts->brings_nearer || facts->brings_nearer()) return Status::ok();
  return plan_error(codec + " changes a Gaussian vector by more than the vector is long, so that no copy would come " +
                    "nearer to the parameters: use another codec");
}

/// The ranks that `self` exchanges with.
std::vector<Rank> neighbours_of(const Scenario& scenario, Rank self, int pairing) {
  const int ranks = scenario.topology.ranks;
  if (scenario.mode.neighbours == Neighbours::kRing) return ring_neighbours(self, ranks);
  const Rank partner = pairs::partner(self, pairing, ranks);
  return partner == self ? std::vector<Rank>{} : std::vector<Rank>{partner};
}

Result<std::vector<TaskGraph>> graphs_of(const Scenario& scenario, const Decision& decision, Elements elements,
                                         int pairing, TaskGraph (*graph)(const Exchange&, std::span<const Rank>),
                                         std::uint64_t& tasks) {
  std::vector<TaskGraph> graphs;
  for (Rank rank = 0; rank < scenario.topology.ranks; ++rank) {
    const std::vector<Rank> neighbours = neighbours_of(scenario, rank, pairing);
    graphs.push_back(graph({.elements = elements,
                            .partitions = static_cast<std::size_t>(decision.partitions),
                            .ranks = scenario.topology.ranks,
                            .self = rank},
                           neighbours));
    tasks += graphs.back().tasks().size();
    if (tasks > kMostSimulatedTasks) return too_many_tasks("more");
  }
  return graphs;
}

/// Seconds of the turns around an exchange of differences. The first reads parameters and their copy, and writes the
/// difference; the second reads the differences, changes all copies, and reads them once more on the way to their mean.
std::vector<double> turns_of(const Scenario& scenario, Elements elements) {
  const auto members = static_cast<double>(ring_neighbours(0, scenario.topology.ranks).size() + 1);
  const double pass_s = sizeof(float) * static_cast<double>(elements) / scenario.profile.memory_bytes_per_second;
  return {scenario.profile.launch_s + 3 * pass_s, scenario.profile.launch_s + (4 * members + 2) * pass_s};
}

/// No residual is read and written: the part that a code loses stays in the difference to the copy.
CodecFactsOf without_residuals(const CodecFactsOf& facts_of) {
  return [facts_of](const CodecChoice& choice) {
    Result<CodecFacts> facts = facts_of(choice);
    if (facts) facts->state_bytes_per_element = 0;
    return facts;
  };
}

Status add_gossip(const Scenario& scenario, std::uint32_t at, int pairing, std::uint32_t slots, std::uint64_t& tasks,
                  FlatTasks& flat) {
  Decision decision = scenario.decisions[at];
  const GradientSpec& spec = scenario.training.gradients[at].spec;
  CASYNC_RETURN_IF_ERROR(check_gossip(scenario, decision, spec.dtype));
  decision.strategy = StrategyKind::kPs;  // of gradients and of a consensus; what it carries is checked above
  decision.servers = {};
  const bool exact = is_exact(decision, spec.dtype);
  const CodecFactsOf facts_of = exact ? scenario.facts_of : without_residuals(scenario.facts_of);
  const Result<HopCosts> costs = hop_costs(decision, exact ? spec.dtype : DType::kFloat32, scenario.profile, facts_of);
  if (!costs) return costs.status();
  const auto graphs =
      graphs_of(scenario, decision, spec.elements(), pairing, exact ? &gossip_graph : &difference_gossip_graph, tasks);
  if (!graphs) return graphs.status();
  const auto slot = static_cast<std::uint32_t>(pairing) * static_cast<std::uint32_t>(scenario.decisions.size()) + at;
  if (exact) return flat.add(*graphs, StrategyKind::kPs, slot, slots, *costs);
  return flat.add_rounds({&*graphs, 1}, StrategyKind::kPs, turns_of(scenario, spec.elements()), slot, slots,
                         {&*costs, 1});
}

}  // namespace

Status add_gossip_tasks(const Scenario& scenario, FlatTasks& flat) {
  const int ranks = scenario.topology.ranks;
  const bool in_pairs = scenario.mode.neighbours == Neighbours::kPairs;
  if (in_pairs && ranks > kMostPairedRanks) {
    return invalid_argument("gossip with neighbours pairs is for up to " + std::to_string(kMostPairedRanks) +
                            " ranks, and there are " + std::to_string(ranks) + ": use ring");
  }
  const int pairings = in_pairs ? pairs::rounds(ranks) : 1;
  const auto gradients = static_cast<std::uint32_t>(scenario.decisions.size());
  std::uint64_t tasks = 0;
  for (int pairing = 0; pairing < pairings; ++pairing) {
    for (std::uint32_t g = 0; g < gradients; ++g) {
      const Status added =
          add_gossip(scenario, g, pairing, gradients * static_cast<std::uint32_t>(pairings), tasks, flat);
      if (added.is_ok()) continue;
      return Status(added.code(), "gradient " + scenario.training.gradients[g].spec.name + ": " + added.message());
    }
  }
  return Status::ok();
}

std::vector<std::uint32_t> gossip_pairings(const Scenario& scenario, int exchanges) {
  std::vector<std::uint32_t> drawn;
  if (scenario.mode.neighbours != Neighbours::kPairs) return drawn;
  for (int exchange = 0; exchange < exchanges; ++exchange) {
    // The last step of each round exchanges.
    const std::uint32_t step =
        scenario.mode.from_step + scenario.mode.every * (static_cast<std::uint32_t>(exchange) + 1) - 1;
    drawn.push_back(static_cast<std::uint32_t>(pairs::round_of(scenario.seed, step, scenario.topology.ranks)));
  }
  return drawn;
}

}  // namespace casync
