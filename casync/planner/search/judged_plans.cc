// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/search/judged_plans.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "casync/planner/search/usual.h"

namespace casync {
namespace {

// Limit on the tasks of all compared plans together: the simulator does a million and a half in a second. More for
// ranks that differ, because no other judge is as good for them.
constexpr std::uint64_t kJudgeTasks = 1'500'000, kJudgeTasksUnlike = 15'000'000;
/// Limit on the tasks of all plans that refine() simulates.
constexpr std::uint64_t kRefineTasks = 1'000'000;

}  // namespace

bool JudgedPlans::is_eligible(const PlannedStep& step) const {
  if (!request_.more_steps) return true;
  for (std::size_t g = 0; g < step.decisions.size(); ++g) {
    const Decision& decision = step.decisions[g];
    const bool fixed = evaluator_.limits(g).codec.has_value();
    if (!fixed && request_.more_steps(decision.codec, decision.second_hop) > request_.most_more_steps) return false;
  }
  return true;
}

/// Another plan has to be better by kNoDifference of the step.
Status JudgedPlans::judge(const PlannedStep& step, bool reference) {
  Result<Simulation> simulation = evaluator_.judge(step, all_ranks_);
  if (!simulation) return simulation.status();
  const double steps = evaluator_.steps(step);
  if (reference) report_.compared.push_back({step.name, simulation->step_s, steps});
  if (!report_.step.decisions.empty() &&
      (!is_eligible(step) ||
       steps * simulation->step_s >= report_.steps * report_.simulation.step_s * (1 - kNoDifference))) {
    return Status::ok();
  }
  report_.step = step;
  report_.steps = steps;
  report_.simulation = std::move(*simulation);
  return Status::ok();
}

Status JudgedPlans::compare(PlannedStep found, const PlannedStep& before, const std::vector<PlannedStep>& references) {
  std::uint64_t tasks = 5 * tasks_of(found, request_.topology.ranks);
  for (const PlannedStep& reference : references) tasks += tasks_of(reference, request_.topology.ranks);
  all_ranks_ = tasks <= (alike(request_.topology) ? kJudgeTasks : kJudgeTasksUnlike);
  const Bytes fusion_bytes = found.fusion_bytes;
  CASYNC_RETURN_IF_ERROR(judge(found, false));
  for (const Bytes bytes : {Bytes{0}, 64_KiB, 1_MiB}) {
    found.fusion_bytes = bytes;
    if (bytes != fusion_bytes) CASYNC_RETURN_IF_ERROR(judge(found, false));
  }
  CASYNC_RETURN_IF_ERROR(judge(before, false));
  for (const PlannedStep& reference : references) CASYNC_RETURN_IF_ERROR(judge(reference, true));
  report_.all_ranks = all_ranks_;
  return Status::ok();
}

Status JudgedPlans::refine(const GradientClasses& classes) {
  std::uint64_t tasks = 0;
  for (const std::size_t c : classes.by_bytes()) {
    for (const Option* option : classes[c].options) {
      PlannedStep step = report_.step;
      step.name = "planned";
      for (const std::size_t g : classes[c].gradients) {
        const int priority = step.decisions[g].priority;
        step.decisions[g] = option->decision;
        step.decisions[g].priority = priority;
      }
      if (step.decisions == report_.step.decisions) continue;
      tasks += std::max<std::uint64_t>(tasks_of(step, request_.topology.ranks), 1000);
      if (tasks > kRefineTasks) return Status::ok();
      CASYNC_RETURN_IF_ERROR(judge(step, false));
    }
  }
  return Status::ok();
}

}  // namespace casync
