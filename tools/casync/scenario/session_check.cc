// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/scenario/session_check.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "casync/planner/decide.h"
#include "casync/simulator/answering_owners.h"
#include "casync/simulator/asynchronous_tasks.h"
#include "casync/simulator/checks.h"
#include "casync/simulator/flat_tasks.h"
#include "casync/simulator/gossip_tasks.h"
#include "casync/simulator/symmetry.h"
#include "runtime/session/declarations.h"
#include "tools/casync/scenario/scenario.h"

namespace casync::tools {
namespace {

/// The scenario with one gradient of each kind of decision, the first one, of one element: the rules depend neither on
/// sizes nor on priorities, and so there are few tasks.
Scenario of_each_kind(const Scenario& scenario) {
  Scenario kinds = scenario;
  kinds.training.gradients.clear();
  kinds.decisions.clear();
  for (std::size_t g = 0; g < scenario.decisions.size(); ++g) {
    TrainedGradient gradient = scenario.training.gradients[g];
    gradient.spec.shape = {1};
    Decision decision = scenario.decisions[g];
    decision.partitions = 1;
    decision.priority = 0;
    bool known = false;
    for (std::size_t i = 0; i < kinds.decisions.size() && !known; ++i) {
      known = kinds.decisions[i] == decision && kinds.training.gradients[i].spec.dtype == gradient.spec.dtype;
    }
    if (known) continue;
    kinds.training.gradients.push_back(std::move(gradient));
    kinds.decisions.push_back(std::move(decision));
  }
  return kinds;
}

Status check_gossip(const Scenario& scenario) {
  const int ranks = scenario.topology.ranks;
  Scenario none = scenario;
  none.training.gradients.clear();
  none.decisions.clear();
  FlatTasks of_ranks(Symmetry{ranks, ranks});
  CASYNC_RETURN_IF_ERROR(add_gossip_tasks(none, of_ranks));
  Scenario kinds = of_each_kind(scenario);
  kinds.topology = place(2, 2);  // the rules for a gradient's decision do not depend on the number of ranks
  FlatTasks of_gradients(Symmetry{2, 2});
  return add_gossip_tasks(kinds, of_gradients);
}

Status check_asynchronous(const Scenario& scenario, bool ranks_are_known) {
  Scenario kinds = of_each_kind(scenario);
  if (!ranks_are_known) kinds.mode.asynchronous->first = 1;
  const int ranks = kinds.topology.ranks;
  FlatTasks tasks(Symmetry{ranks, ranks});
  AnsweringOwners owners(*kinds.mode.asynchronous, kinds.profile.memory_bytes_per_second);
  return add_asynchronous_tasks(kinds, std::vector<std::size_t>(kinds.decisions.size()), tasks, owners);
}

/// The rules of the scenario's mode.
Status check_mode(Scenario scenario, bool ranks_are_known) {
  if (scenario.mode == SyncMode{}) return Status::ok();
  scenario.profile = {};
  scenario.profile.memory_bytes_per_second = 1;  // tasks have a price, which nobody looks at
  scenario.training.slow.clear();                // of a job that may have more ranks
  CASYNC_RETURN_IF_ERROR(check_scenario(scenario, {}));
  if (scenario.mode.is_gossip()) return check_gossip(scenario);
  return scenario.mode.is_asynchronous() ? check_asynchronous(scenario, ranks_are_known) : Status::ok();
}

/// PlanError, naming the gradient: the plan's reader would refuse the mode, which may be the command line's, beside its
/// warm-up (check_warm_up in plan_io.cc).
Status check_warm_up(const Plan& plan, const GradientSpec& spec, int ranks) {
  const auto unasked = [](const CodecChoice&) { return CodecTraits{}.bits_per_element; };
  if (!plan.mode.is_local() || !decide(plan, spec, ranks, unasked).warm_up_from) return Status::ok();
  return plan_error("gradient " + spec.name + ": warm_up_from beside " +
                    (plan.mode.is_gossip() ? "gossip" : "local_sgd") + ", expected one of the two");
}

/// Declares the gradients as a session does, but for codecs that are left to the planner. Errors as check_warm_up() and
/// runtime::declare_gradient.
Status check_declarations(Plan plan, const Scenario& scenario, bool ranks_are_known) {
  plan.mode = scenario.mode;
  if (!ranks_are_known && plan.mode.asynchronous) plan.mode.asynchronous->first = 1;  // of a job that may have more
  for (const TrainedGradient& gradient : scenario.training.gradients) {
    if (codec_limits(plan, gradient.spec.name).is_open) continue;
    CASYNC_RETURN_IF_ERROR(check_warm_up(plan, gradient.spec, scenario.topology.ranks));
    CASYNC_RETURN_IF_ERROR(runtime::declare_gradient(plan, gradient.spec, scenario.topology).status());
  }
  return Status::ok();
}

}  // namespace

Status check_session(const Plan& plan, const Scenario& scenario, bool ranks_are_known) {
  CASYNC_RETURN_IF_ERROR(check_mode(scenario, ranks_are_known));
  return check_declarations(plan, scenario, ranks_are_known);
}

}  // namespace casync::tools
