// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/engine/task_table.h"

#include "casync/simulator/rounds.h"

namespace casync::engine {
namespace {

/// By gradient: the seconds of each of its tasks besides the work. Ranks that drift apart have no bundles, nor do those
/// whose messages never travel together; scattered gradients and exchanges within a step are in none.
std::vector<double> task_costs(const Scenario& scenario) {
  const Profile& profile = scenario.profile;
  std::vector<double> costs(scenario.training.gradients.size(), profile.task_s);
  if (scenario.fusion_bytes == 0 || scenario.mode.is_gossip() || scenario.mode.is_asynchronous()) return costs;
  for (std::size_t g = 0; g < costs.size(); ++g) {
    const GradientSpec& spec = scenario.training.gradients[g].spec;
    Decision decision = scenario.decisions[g];
    const auto rounds = rounds_of(decision, spec, scenario.topology.ranks, profile, scenario.facts_of);
    if (!rounds || *rounds || spec.scattered) continue;
    costs[g] = task_seconds(profile, decision, spec.dtype, spec.elements());
  }
  return costs;
}

}  // namespace

TaskTable::TaskTable(const Scenario& scenario, const FlatTasks& flat, const Drift& drift)
    : flat_(flat),
      drift_(drift),
      tasks_(flat.tasks()),
      gradients_(static_cast<std::uint32_t>(scenario.training.gradients.size())),
      slots_(flat.gradients()),
      tasks_s_(task_costs(scenario)) {}

double TaskTable::work_s(std::uint32_t task) const {
  const bool is_batch = is_side(task) && tasks_[task].verb == TaskVerb::kMerge;
  return is_batch ? drift_.owners->seconds(drift_.owners->partition_of(task)) : tasks_[task].seconds;
}

}  // namespace casync::engine
