// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/asynchronous_tasks.h"

#include <algorithm>
#include <string>
#include <utility>

#include "casync/patterns/servers.h"
#include "casync/simulator/outline.h"
#include "casync/simulator/rank_graphs.h"
#include "casync/strategies/asynchronous.h"

namespace casync {
namespace {

/// By rank: false for dedicated servers.
std::vector<bool> contributors(const Servers& servers, const Topology& topology) {
  std::vector<bool> contributes(static_cast<std::size_t>(topology.ranks), true);
  if (!servers.dedicated) return contributes;
  for (const Rank server : server_ranks(topology.node_of, topology.ranks, servers.count)) {
    contributes[static_cast<std::size_t>(server)] = false;
  }
  return contributes;
}

/// The rules of a session (runtime/session/asynchronous_run.cc).
Status check_asynchronous(const Scenario& scenario, const Decision& decision, const std::vector<bool>& contributes) {
  if (decision.strategy != StrategyKind::kPs) {
    return plan_error("strategy `" + std::string(name_of(decision.strategy)) +
                      "` makes one result for all ranks, and `asynchronous` an answer for each: use strategy `ps`");
  }
  if (decision.warm_up_steps > 0) {
    return plan_error(
        "warm-up steps are those of all ranks together, and with `asynchronous` each rank is in its "
        "own: leave `warm_up_steps` out");
  }
  for (const CodecChoice* const choice : {&decision.codec, &decision.second_hop}) {
    const Result<CodecFacts> facts = scenario.facts_of(*choice);
    if (!facts) return facts.status();
    if (!facts->rounds && !facts->traits.coded_terms && !facts->traits.has_result) continue;
    return plan_error("codec `" + facts->name + "` needs the codes of all ranks to a step, and owners answer ranks " +
                      "one by one: with `asynchronous` use a codec that keeps a residual or nothing");
  }
  const auto count = static_cast<std::uint32_t>(std::count(contributes.begin(), contributes.end(), true));
  if (scenario.mode.asynchronous->first <= count) return Status::ok();
  return plan_error("the plan's asynchronous has first: " + std::to_string(scenario.mode.asynchronous->first) +
                    ", and " + std::to_string(count) + (count == 1 ? " rank contributes" : " ranks contribute"));
}

/// The partitions of one gradient, and its owners' messages.
class Partitions {
 public:
  Partitions(const std::vector<TaskGraph>& own, const std::vector<TaskGraph>& sides, std::uint32_t gradient,
             std::uint32_t side, std::uint32_t slots, FlatTasks& flat)
      : own_(own), sides_(sides), gradient_(gradient), side_(side), slots_(slots), flat_(flat) {}

  void add_to(AnsweringOwners& owners, const std::vector<bool>& contributes, const HopCosts& costs) {
    for (std::uint32_t rank = 0; rank < own_.size(); ++rank) {
      for (Found& found : found_at(rank)) {
        found.owned.batch = flat_.add_batch(rank * slots_ + side_, found.partition);
        owners.add(std::move(found.owned), contributes, found.contributions, costs);
      }
    }
  }

 private:
  struct Found {
    std::uint32_t partition = 0;
    AnsweringOwners::Owned owned;
    std::vector<std::uint32_t> contributions;  ///< their recvs
  };

  /// The partitions that `rank` owns, without their batches: those of which it receives from itself.
  std::vector<Found> found_at(std::uint32_t rank) {
    std::vector<Found> all;
    for (std::size_t t = 0; t < own_[rank].tasks().size(); ++t) {
      const auto* recv = std::get_if<Recv>(&own_[rank].tasks()[t]);
      if (recv == nullptr || recv->from != static_cast<Rank>(rank)) continue;
      if (place_of_.size() <= recv->id.partition) place_of_.resize(recv->id.partition + 1);
      place_of_[recv->id.partition] = all.size();
      Found& found = all.emplace_back();
      found.partition = recv->id.partition;
      found.owned.owner = recv->from;
      found.owned.gradient = gradient_;
      found.owned.elements = own_[rank].buffers()[TaskGraph::index(recv->to)].slice.count;
      found.owned.own_answer = flat_.of(rank, gradient_).begin + static_cast<std::uint32_t>(t);
      found.owned.answers.assign(own_.size(), kNoTask);
    }
    add_messages(rank, all);
    return all;
  }

  /// Adds the recvs of contributions to an owner's partitions, and the sends of answers.
  void add_messages(std::uint32_t owner, std::vector<Found>& all) const {
    const std::uint32_t first = flat_.of(owner, side_).begin;
    for (std::size_t t = 0; t < sides_[owner].tasks().size(); ++t) {
      const Primitive& task = sides_[owner].tasks()[t];
      const std::uint32_t flat = first + static_cast<std::uint32_t>(t);
      const auto* recv = std::get_if<Recv>(&task);
      const auto* send = std::get_if<Send>(&task);
      if (recv != nullptr) all[place_of_[recv->id.partition]].contributions.push_back(flat);
      if (send != nullptr) {
        all[place_of_[send->id.partition]].owned.answers[static_cast<std::size_t>(send->to)] = flat;
      }
    }
  }

  const std::vector<TaskGraph>&own_, &sides_;
  const std::uint32_t gradient_, side_, slots_;
  FlatTasks& flat_;
  std::vector<std::size_t> place_of_;  ///< by partition: its place among those of its owner
};

Status add_answers(const Scenario& scenario, std::uint32_t at, std::size_t first_owner, std::uint64_t& tasks,
                   FlatTasks& flat, AnsweringOwners& owners) {
  const Decision& decision = scenario.decisions[at];
  const GradientSpec& spec = scenario.training.gradients[at].spec;
  const auto count = static_cast<std::uint32_t>(scenario.decisions.size());
  const int ranks = scenario.topology.ranks;
  const std::vector<bool> contributes = contributors(decision.servers, scenario.topology);
  CASYNC_RETURN_IF_ERROR(check_asynchronous(scenario, decision, contributes));
  const Result<HopCosts> costs = hop_costs(decision, spec.dtype, scenario.profile, scenario.facts_of);
  if (!costs) return costs.status();
  const auto own = rank_graphs(scenario, ranks, decision, spec.elements(), first_owner, tasks, &asynchronous_graph);
  if (!own) return own.status();
  const auto sides = rank_graphs(scenario, ranks, decision, spec.elements(), first_owner, tasks, &owner_graph);
  if (!sides) return sides.status();
  CASYNC_RETURN_IF_ERROR(flat.add_asynchronous(*own, *sides, at, count + at, 2 * count, *costs));
  Partitions(*own, *sides, at, count + at, 2 * count, flat).add_to(owners, contributes, *costs);
  return Status::ok();
}

}  // namespace

Status add_asynchronous_tasks(const Scenario& scenario, const std::vector<std::size_t>& first_owners, FlatTasks& flat,
                              AnsweringOwners& owners) {
  std::uint64_t tasks = 0;
  for (std::uint32_t g = 0; g < scenario.decisions.size(); ++g) {
    const Status added = add_answers(scenario, g, first_owners[g], tasks, flat, owners);
    if (added.is_ok()) continue;
    return Status(added.code(), "gradient " + scenario.training.gradients[g].spec.name + ": " + added.message());
  }
  return Status::ok();
}

std::vector<bool> contributing_ranks(const Scenario& scenario) {
  std::vector<bool> all(static_cast<std::size_t>(scenario.topology.ranks), scenario.decisions.empty());
  for (const Decision& decision : scenario.decisions) {
    const std::vector<bool> own = contributors(decision.servers, scenario.topology);
    for (std::size_t rank = 0; rank < all.size(); ++rank) all[rank] = all[rank] || own[rank];
  }
  return all;
}

}  // namespace casync
