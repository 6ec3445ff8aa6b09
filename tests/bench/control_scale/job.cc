// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/control_scale/job.h"

#include <atomic>
#include <thread>

#include "runtime/session/agreement.h"

namespace casync::runtime::bench {
namespace {

constexpr Seconds kPatience{120};
constexpr Bytes kAddressBytes = 300;  // of a UCX worker over TCP

std::string name_of(int index) {
  return "model.layers." + std::to_string(index / 4) + ".part" + std::to_string(index % 4);
}

std::string node_of(const Job& job, Rank rank) { return "node" + std::to_string(rank / job.per_node); }

GroupOptions options_of(const Job& job, Rank rank, Store& store) {
  GroupOptions options;
  options.rank = rank;
  options.ranks = job.ranks;
  options.store = &store;
  options.interface_name = "lo";
  options.machine = node_of(job, rank);
  options.timeout = kPatience;
  return options;
}

std::vector<Claim> claims_of(const Job& job) {
  std::vector<Claim> claims;
  for (int i = 0; i < job.gradients; ++i) {
    const GradientSpec gradient = gradient_of(job, i);
    const std::string name = "gradient " + gradient.name;
    claims.push_back({name, {{name, text_of(gradient, decision_of(job, i))}}});
  }
  return claims;
}

/// Waits until so many names were agreed.
Status wait_for(const std::atomic<int>& agreed, int names, const Group& group) {
  const auto deadline = after(kPatience);
  // Waits for a change of the number that was looked at: it may have changed for the last time since.
  for (int seen = agreed; seen < names && group.failure().is_ok(); seen = agreed) {
    if (Clock::now() > deadline) return timeout_error("the ranks do not agree");
    agreed.wait(seen);
  }
  return group.failure();
}

/// Does with the group what a session does ahead of the first step.
Status compare(const Job& job, Rank rank, Group& group) {
  std::atomic<int> agreed = 0;
  const auto count = [&](const Agreement& agreement) {
    agreed += static_cast<int>(agreement.names.size());
    agreed.notify_all();
  };
  group.watch([&](const Status&) {
    agreed += job.gradients;  // wakes who waits
    agreed.notify_all();
  });
  CASYNC_RETURN_IF_ERROR(group.agree({"settings", facts_of(plan_of(job))}, after(kPatience)));
  CASYNC_RETURN_IF_ERROR(group.all_gather("nodes", node_of(job, rank), after(kPatience)).status());
  CASYNC_RETURN_IF_ERROR(group.all_gather("addresses", std::string(kAddressBytes, 'x'), after(kPatience)).status());
  group.watch_agreements(count);
  group.claim(claims_of(job));
  const Status status = wait_for(agreed, job.gradients, group);
  group.watch_agreements(nullptr);
  return status;
}

}  // namespace

GradientSpec gradient_of(const Job&, int index) {
  return {name_of(index), DType::kFloat32, {256 << (index % 4), 1024}, index};
}

Decision decision_of(const Job&, int index) {
  Decision decision;
  decision.codec = {"int8", {}};
  decision.second_hop = {"bf16", {}};
  decision.strategy = StrategyKind::kHierarchical;
  decision.partitions = 1 << (index % 4);
  decision.priority = index;
  return decision;
}

Plan plan_of(const Job& job) {
  Plan plan;
  for (int i = 0; i < job.gradients; ++i) {
    const Decision decision = decision_of(job, i);
    Choice choice;
    choice.codec = decision.codec;
    choice.second_hop = decision.second_hop;
    choice.strategy = decision.strategy;
    choice.partitions = decision.partitions;
    choice.priority = decision.priority;
    plan.gradients.push_back({name_of(i), choice});
  }
  return plan;
}

Status run_rank(const Job& job, Rank rank, Moments& moments, const std::function<void(Group&)>& meanwhile) {
  const auto store = make_file_store(job.directory);
  auto group = Group::join(options_of(job, rank, *store));
  if (!group) return group.status();
  moments.joined = Clock::now();
  CASYNC_RETURN_IF_ERROR((*group)->all_gather("all are here", "", after(kPatience)).status());
  moments.asked = Clock::now();
  CASYNC_RETURN_IF_ERROR(compare(job, rank, **group));
  moments.agreed = Clock::now();
  if (meanwhile) meanwhile(**group);
  CASYNC_RETURN_IF_ERROR((*group)->all_gather("all are done", "", after(kPatience)).status());
  return (*group)->close(after(kPatience));
}

}  // namespace casync::runtime::bench
