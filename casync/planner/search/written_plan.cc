// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/search/written_plan.h"

#include <utility>

namespace casync {

Plan written_plan(const PlanRequest& request, const PlannedStep& step, const std::string& profile_digest) {
  Plan plan;
  plan.world = {request.topology.ranks, request.topology.nodes(), profile_digest};
  plan.fusion_bytes = step.fusion_bytes;
  plan.mode = request.mode;
  plan.seed = request.seed;
  plan.coordinated = request.coordinated;
  for (std::size_t g = 0; g < step.decisions.size(); ++g) {
    const Decision& decision = step.decisions[g];
    Entry entry{request.training.gradients[g].spec.name, {}};
    entry.choice.codec = decision.codec;
    if (!(decision.second_hop == decision.codec)) entry.choice.second_hop = decision.second_hop;
    entry.choice.strategy = decision.strategy;
    if (decision.servers.count > 0) entry.choice.servers = decision.servers;
    entry.choice.partitions = decision.partitions;
    entry.choice.priority = decision.priority;
    std::uint32_t warm_up_steps = request.warm_up_steps;
    if (!request.limits.empty()) warm_up_steps = request.limits[g].warm_up_steps.value_or(warm_up_steps);
    if (warm_up_steps > 0 && (decision.codec.name != "none" || decision.second_hop.name != "none")) {
      entry.choice.warm_up_steps = warm_up_steps;
      if (!request.limits.empty()) entry.choice.warm_up_from = request.limits[g].warm_up_from;
    }
    if (!request.limits.empty()) entry.choice.residual_memory = request.limits[g].residual_memory;
    plan.gradients.push_back(std::move(entry));
  }
  return plan;
}

}  // namespace casync
