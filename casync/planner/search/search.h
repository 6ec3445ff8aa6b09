// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "casync/planner/search/request.h"

namespace casync {

/// The plan that the planner found, and the plans that it was compared with.
struct PlanReport {
  struct Compared {
    std::string name;
    double step_s = 0;
    double steps = 1;  ///< to the same loss, as a multiple of those without compression
  };
  PlannedStep step;
  double steps = 1;                 ///< of `step`, likewise
  Simulation simulation;            ///< the simulation of `step`
  bool all_ranks = false;           ///< plans were compared by simulating all ranks, else by one that stands for all
  std::vector<Compared> compared;   ///< the reference plans, in their order
  std::vector<std::string> reason;  ///< for each gradient, in words
  std::uint64_t evaluations = 0;    ///< number of simulated steps
};

/// Searches the plan with the least predicted step, over the simulator; with `request.more_steps`, the one with the
/// least product of a step's time and the number of steps, which is meant by "step" below. Gradients of one size and
/// type are decided together first, then single ones that are waited for. Gradients whose compression does not shorten
/// the step are sent as they are. Takes the simpler of plans that differ by less than the predictions' error, a
/// hundredth of a step: fewer compressed gradients, fewer kinds of decisions, and the values of fields that a plan
/// leaves out (prefer_usual).
///
/// The result is a function of the request. By the same simulator its step is longer than that of any eligible one of
/// reference_plans() by no more than three hundredths: one because a plan must be better by that to replace another,
/// and two because prefer_usual() may take them. InvalidArgument, PlanError: as simulate() and hop_costs.
Result<PlanReport> find_plan(const PlanRequest& request);

}  // namespace casync
