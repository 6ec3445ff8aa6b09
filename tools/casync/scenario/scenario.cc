// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/scenario/scenario.h"

#include "casync/planner/decide.h"
#include "casync/planner/search/grouped.h"
#include "casync/planner/search/payload_bits.h"
#include "casync/planner/search/request.h"
#include "casync/simulator/rounds.h"
#include "tools/casync/codec_facts.h"
#include "tools/casync/input_files.h"
#include "tools/casync/scenario/session_check.h"

namespace casync::tools {

Status check_nodes(int ranks, int nodes) {
  if (nodes <= ranks) return Status::ok();
  return invalid_argument(std::to_string(nodes) + " nodes for " + std::to_string(ranks) +
                          (ranks == 1 ? " rank" : " ranks") + ", expected at most one for each rank");
}

Topology place(int ranks, int nodes) {
  Topology topology{ranks, {}};
  for (int rank = 0; rank < ranks; ++rank) {
    topology.node_of.push_back(static_cast<int>(static_cast<std::int64_t>(rank) * nodes / ranks));
  }
  return topology;
}

std::string text_of_cluster(const Topology& topology, const Profile& profile) {
  const int ranks = topology.ranks, nodes = topology.nodes();
  return std::to_string(ranks) + (ranks == 1 ? " rank, " : " ranks, ") + std::to_string(nodes) +
         (nodes == 1 ? " node" : " nodes") + (profile.name.empty() ? "" : ": " + profile.name);
}

std::string text_of_setting(const Training& training, const Topology& topology, const Profile& profile) {
  return (training.name.empty() ? "this model" : training.name) + " on " + text_of_cluster(topology, profile);
}

Training with_equal_shards(Training training, int ranks) {
  for (TrainedGradient& gradient : training.gradients) {
    GradientSpec& spec = gradient.spec;
    const Elements padded = round_up(spec.elements(), static_cast<Elements>(ranks));
    if (spec.scattered && padded != spec.elements()) spec.shape = {static_cast<std::int64_t>(padded)};
  }
  return training;
}

Result<Decision> decision_of_session(const Plan& plan, const GradientSpec& spec, int ranks, const Profile& profile) {
  Decision decision = decide(plan, spec, ranks, payload_bits(facts_of)), sent = decision;
  const auto rounds = rounds_of(sent, spec, ranks, profile, facts_of);
  if (!rounds) return rounds.status();
  if (!(sent.codec == decision.codec)) decision.codec = decision.second_hop = CodecChoice{};
  return decision;
}

Result<Scenario> scenario_of(Profile profile, const Training& training, const Plan& plan, Topology topology) {
  Result<GroupedTraining> whole = grouped(plan, training);
  if (!whole) return whole.status();
  Scenario scenario;
  scenario.topology = std::move(topology);
  scenario.profile = std::move(profile);
  scenario.training = std::move(whole->training);
  scenario.fusion_bytes = plan.fusion_bytes;
  scenario.credit_bytes = plan.credit_bytes;
  scenario.mode = plan.mode;
  scenario.seed = plan.seed;
  scenario.facts_of = facts_of;
  for (const TrainedGradient& gradient : scenario.training.gradients) {
    const GradientSpec& spec = gradient.spec;
    const Result<Decision> decision = decision_of_session(plan, spec, scenario.topology.ranks, scenario.profile);
    if (!decision) {
      return Status(decision.status().code(), "gradient " + spec.name + ": " + decision.status().message());
    }
    scenario.decisions.push_back(in_own_type(*decision, spec.dtype));
  }
  return scenario;
}

Result<Scenario> read_scenario(const ScenarioFiles& files, Topology topology,
                               const std::function<void(const std::string&)>& remark) {
  Result<Profile> profile = read_profile_input(files.profile);
  if (!profile) return profile.status();
  Result<Training> training = read_model_input(files.model);
  if (!training) return training.status();
  *training = with_equal_shards(std::move(*training), topology.ranks);
  const Result<Plan> plan = files.plan.empty() ? Result<Plan>(Plan{}) : read_plan_input(files.plan);
  if (!plan) return plan.status();
  const auto named = [&](const Status& status) {
    const std::string& file = files.plan.empty() ? files.model : files.plan;
    return Status(status.code(), file + ": " + status.message());
  };
  const Result<GroupedTraining> whole = grouped(*plan, *training);
  if (!whole) return named(whole.status());
  std::vector<GradientSpec> gradients;
  for (const TrainedGradient& gradient : whole->training.gradients) gradients.push_back(gradient.spec);
  for (const GradientSpec& gradient : gradients) {
    const Status decided = check_decided(*plan, gradient.name);
    if (!decided) return named(Status(decided.code(), "gradient `" + gradient.name + "`: " + decided.message()));
  }
  for (const std::string& sentence : remarks(*plan, gradients, topology)) remark(sentence);
  if (plan->coordinated) remark(kUncoordinated);
  for (const std::string& group : whole->absent) remark("group `" + group + "` has none of these gradients");
  Result<Scenario> scenario = scenario_of(std::move(*profile), *training, *plan, std::move(topology));
  if (!scenario) return named(scenario.status());
  if (const Status taken = check_session(*plan, *scenario, true); !taken) return named(taken);
  return scenario;
}

}  // namespace casync::tools
