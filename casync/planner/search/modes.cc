// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/search/modes.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace casync {
namespace {

/// The least gain, as a share of a step: predictions are no better.
constexpr double kShorter = 0.99;

bool warms_up_from(const PlanRequest& request) {
  return std::any_of(request.limits.begin(), request.limits.end(),
                     [](const Limits& limits) { return limits.warm_up_from.has_value(); });
}

/// Returns true if a gradient is scattered: ranks then exchange in every step.
bool scatters(const PlanRequest& request) {
  return std::any_of(request.training.gradients.begin(), request.training.gradients.end(),
                     [](const TrainedGradient& gradient) { return gradient.spec.scattered; });
}

/// Searches a plan for each mode. Results that come late make the same step, however late, if ranks are alike.
class ModeSearch {
 public:
  explicit ModeSearch(const PlanRequest& request) : request_(request) {}

  Result<PlanReport> plan_for(const SyncMode& mode) {
    if (mode.staleness > 0 && late_ && request_.training.is_alike()) return *late_;
    PlanRequest other = request_;
    other.mode = mode;
    Result<PlanReport> report = find_plan(other);
    if (report && mode.staleness > 0) late_ = *report;
    return report;
  }

 private:
  const PlanRequest& request_;
  std::optional<PlanReport> late_;
};

}  // namespace

Result<std::vector<ModePlan>> better_modes(const PlanRequest& request, const PlanReport& bulk,
                                           const std::vector<ModeOffer>& offers) {
  std::vector<ModePlan> better;
  if (!(request.mode == SyncMode{}) || !request.more_steps || scatters(request)) return better;
  const double enough_s = kShorter * bulk.steps * bulk.simulation.step_s;
  const double training_s = request.training.backward_s + request.training.forward_s;
  const bool no_local = warms_up_from(request);
  ModeSearch search(request);
  for (const ModeOffer& offer : offers) {
    const double mode_steps = 1 + offer.more_steps;
    if (offer.more_steps > request.most_more_steps || mode_steps * training_s >= enough_s) continue;
    if (offer.mode.is_local() && no_local) continue;
    Result<PlanReport> report = search.plan_for(offer.mode);
    if (!report) return report.status();
    const double steps = mode_steps * report->steps;
    ModePlan plan{offer.mode, std::move(*report), steps};
    if (plan.cost_s() < enough_s) better.push_back(std::move(plan));
  }
  std::stable_sort(better.begin(), better.end(),
                   [](const ModePlan& a, const ModePlan& b) { return a.cost_s() < b.cost_s(); });
  return better;
}

}  // namespace casync
