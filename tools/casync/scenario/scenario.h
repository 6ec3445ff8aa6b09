// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "casync/simulator/simulate.h"

namespace casync::tools {

/// A cluster, what training does and what happens to each gradient, as files.
struct ScenarioFiles {
  std::string profile, model;
  std::string plan;  ///< "": nothing is encoded
};

/// A remark on a prediction for a plan with `coordinated`.
inline constexpr const char* kUncoordinated =
    "coordinated: predicted without the coordinator of links, which the simulator does not know";

/// InvalidArgument: more nodes than ranks.
Status check_nodes(int ranks, int nodes);

/// Ranks fill nodes one after the other, as launchers place them.
Topology place(int ranks, int nodes);

/// "128 ranks, 16 nodes: V100", and without the name if the profile does not give one.
std::string text_of_cluster(const Topology& topology, const Profile& profile);
/// "BERT-large on 128 ranks, 16 nodes: V100", and "this model" if the description does not give a name.
std::string text_of_setting(const Training& training, const Topology& topology, const Profile& profile);

/// Scattered gradients as a program pads them for so many ranks: the model may have been recorded on others.
Training with_equal_shards(Training training, int ranks);

/// The plan's decision for a gradient as a session carries it out: with codec `none` where its codec exchanges and does
/// not take the gradient. Errors as rounds_of().
Result<Decision> decision_of_session(const Plan& plan, const GradientSpec& spec, int ranks, const Profile& profile);

/// Reads them for this topology; what a user should know about the plan goes to `remark`, a sentence each. Errors as
/// read_profile_file, read_model_file, read_plan_file; as scenario_of and check_session, with the file's name.
Result<Scenario> read_scenario(const ScenarioFiles& files, Topology topology,
                               const std::function<void(const std::string&)>& remark);

/// The same from what has been read: each of the plan's groups is a gradient. Errors as grouped(); as
/// decision_of_session(), with the gradient's name.
Result<Scenario> scenario_of(Profile profile, const Training& training, const Plan& plan, Topology topology);

}  // namespace casync::tools
