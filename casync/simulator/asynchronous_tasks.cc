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
      for (std::size_t t = 0; t < own_[rank].tasks().size(); ++t) {
        const auto* recv = std::get_if<Recv>(&own_[rank].tasks()[t]);
        if (recv == nullptr || recv->from != static_cast<Rank>(rank)) continue;
        AnsweringOwners::Owned owned;
        owned.owner = recv->from;
        owned.gradient = gradient_;
        owned.elements = own_[rank].buffers()[TaskGraph::index(recv->to)].slice.count;
        owned.own_answer = flat_.of(rank, gradient_).begin + static_cast<std::uint32_t>(t);
        owned.batch = flat_.add_batch(rank * slots_ + side_, recv->id.partition);
        owned.answers.assign(own_.size(), kNoTask);
        const std::vector<std::uint32_t> contributions = messages_of(rank, recv->id.partition, owned.answers);
        owners.add(std::move(owned), contributes, contributions, costs);
      }
    }
  }

 private:
  /// The recvs of contributions to an owner's partition, and the sends of answers.
  std::vector<std::uint32_t> messages_of(std::uint32_t owner, std::uint32_t partition,
                                         std::vector<std::uint32_t>& answers) const {
    std::vector<std::uint32_t> contributions;
    const std::uint32_t first = flat_.of(owner, side_).begin;
    for (std::size_t t = 0; t < sides_[owner].tasks().size(); ++t) {
      const Primitive& task = sides_[owner].tasks()[t];
      const std::uint32_t flat = first + static_cast<std::uint32_t>(t);
      const auto* recv = std::get_if<Recv>(&task);
      const auto* send = std::get_if<Send>(&task);
      if (recv != nullptr && recv->id.partition == partition) contributions.push_back(flat);
      if (send != nullptr && send->id.partition == partition) answers[static_cast<std::size_t>(send->to)] = flat;
    }
    return contributions;
  }

  const std::vector<TaskGraph>&own_, &sides_;
  const std::uint32_t gradient_, side_, slots_;
  FlatTasks& flat_;
};

Status add_answers(const Scenario& scenario, std::uint32_t at, std::size_t first_owner, std::uint64_t& tasks,
                   FlatTasks& flat, AnsweringOwners& owners) {
  const Decision& decision = scenario.decisions[at];
  const GradientSpec& spec = scenario.training.gradients[at].spec;
  const auto count = static_cast<std::uint32_t>(scenario.decisions.size());
  const int ranks = scenario.topology.ranks;
  const std::vector<bool> contributes = contributors(decision.servers, scenario.topology);
  CASYNC_RETURN_IF_ERROR(check_asynchronous(scenario, decision, contributes));
  Result<HopCosts> costs = hop_costs(decision, spec.dtype, scenario.profile, scenario.facts_of);
  if (!costs) return costs.status();
  const HopCosts& kept = owners.keep(std::move(*costs));
  const auto own = rank_graphs(scenario, ranks, decision, spec.elements(), first_owner, tasks, &asynchronous_graph);
  if (!own) return own.status();
  const auto sides = rank_graphs(scenario, ranks, decision, spec.elements(), first_owner, tasks, &owner_graph);
  if (!sides) return sides.status();
  CASYNC_RETURN_IF_ERROR(flat.add_asynchronous(*own, *sides, at, count + at, 2 * count, kept));
  Partitions(*own, *sides, at, count + at, 2 * count, flat).add_to(owners, contributes, kept);
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
