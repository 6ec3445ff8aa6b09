// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/simulate/scenario.h"

#include "casync/planner/decide.h"
#include "casync/planner/search/request.h"
#include "tools/casync/input_files.h"
#include "tools/casync/simulate/prediction.h"

namespace casync::tools {

Scenario scenario_of(Profile profile, Training training, const Plan& plan, Topology topology) {
  Scenario scenario;
  scenario.topology = std::move(topology);
  scenario.profile = std::move(profile);
  scenario.training = std::move(training);
  scenario.fusion_bytes = plan.fusion_bytes;
  scenario.credit_bytes = plan.credit_bytes;
  scenario.mode = plan.mode;
  scenario.facts_of = facts_of;
  for (const TrainedGradient& gradient : scenario.training.gradients) {
    const Decision decision = decide(plan, gradient.spec, scenario.topology.ranks);
    scenario.decisions.push_back(in_own_type(decision, gradient.spec.dtype));
  }
  return scenario;
}

Result<Scenario> read_scenario(const ScenarioFiles& files, Topology topology,
                               const std::function<void(const std::string&)>& remark) {
  Result<Profile> profile = read_profile_input(files.profile);
  if (!profile) return profile.status();
  Result<Training> training = read_model_input(files.model);
  if (!training) return training.status();
  const Result<Plan> plan = files.plan.empty() ? Result<Plan>(Plan{}) : read_plan_input(files.plan);
  if (!plan) return plan.status();
  std::vector<GradientSpec> gradients;
  for (const TrainedGradient& gradient : training->gradients) gradients.push_back(gradient.spec);
  for (const GradientSpec& gradient : gradients) {
    const Status decided = check_decided(*plan, gradient.name);
    if (!decided) {
      return Status(decided.code(), files.plan + ": gradient `" + gradient.name + "`: " + decided.message());
    }
  }
  for (const std::string& sentence : remarks(*plan, gradients, topology)) remark(sentence);
  return scenario_of(std::move(*profile), std::move(*training), *plan, std::move(topology));
}

}  // namespace casync::tools
