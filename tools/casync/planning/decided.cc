// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/planning/decided.h"

#include <cstdio>
#include <utility>

#include "casync/model/mode_text.h"
#include "casync/planner/decide.h"
#include "casync/planner/loss_table.h"
#include "casync/planner/search/evaluator.h"
#include "casync/planner/search/reasons.h"
#include "casync/planner/search/whole_step.h"
#include "casync/simulator/simulate_within.h"
#include "tools/casync/scenario/scenario.h"
#include "tools/casync/scenario/session_check.h"

namespace casync::tools {
namespace {

std::vector<ModeOffer> trained_offers() {
  std::vector<ModeOffer> offers;
  for (const SyncMode& mode : trained_modes()) offers.push_back({mode, more_steps(mode).value_or(0)});
  return offers;
}

/// The number of steps to the same loss that the plan's own mode needs, besides its codecs.
void add_mode(const SyncMode& mode, Gain& gain) {
  gain.mode = text_of(mode);
  const std::optional<double> more = more_steps(mode);
  gain.mode_is_trained = more.has_value();
  gain.steps *= 1 + more.value_or(0);
}

/// The part of the time to the same loss that is left.
double part_left(const Decided& decided, const ModePlan& plan) {
  return plan.cost_s() / (decided.gain.steps * decided.gain.planned_s);
}

const char* what_changes(const SyncMode& mode) {
  return mode.is_local() ? "parameters of ranks then differ within a round" : "results are then applied late";
}

}  // namespace

Result<Decided> decided_plan(const PlanInputs& inputs, PlanRequest request) {
  Result<PlanReport> report = find_plan(request);
  if (!report) return report.status();
  const Result<double> uncompressed_s = uncompressed_step_s(request, *report);
  if (!uncompressed_s) return uncompressed_s.status();
  Result<std::vector<ModePlan>> better = better_modes(request, *report, trained_offers());
  if (!better) return better.status();
  Decided decided{std::move(request), std::move(*report), {}, {}, {}};
  if (inputs.allow_modes && !better->empty()) {
    decided.request.mode = better->front().mode;
    decided.report = std::move(better->front().report);
  } else {
    decided.better = std::move(*better);
  }
  decided.gain = gain_of(decided.report, *uncompressed_s);
  add_mode(decided.request.mode, decided.gain);
  return decided;
}

Result<PlannedStep> step_of(const Plan& plan, const PlanRequest& request) {
  PlannedStep step{"given", {}, plan.fusion_bytes};
  for (const TrainedGradient& gradient : request.training.gradients) {
    const GradientSpec& spec = gradient.spec;
    const auto named = [&](const Status& status) {
      return Status(status.code(), "gradient `" + spec.name + "`: " + status.message());
    };
    const Status decided = check_decided(plan, spec.name);
    if (!decided) return named(decided);
    const Result<Decision> decision = decision_of_session(plan, spec, request.topology.ranks, request.profile);
    if (!decision) return named(decision.status());
    step.decisions.push_back(*decision);
  }
  Result<Scenario> scenario = scenario_of(request.profile, request.training, plan, request.topology);
  if (!scenario) return scenario.status();
  scenario->mode = request.mode;
  CASYNC_RETURN_IF_ERROR(check_session(plan, *scenario, true));
  return step;
}

Result<Decided> given_plan(const Plan& plan, PlanRequest request) {
  if (request.mode == SyncMode{}) request.mode = plan.mode;
  request.seed = plan.seed;
  Result<PlannedStep> step = step_of(plan, request);
  if (!step) return step.status();
  Result<Scenario> scenario = scenario_of(request.profile, request.training, plan, request.topology);
  if (!scenario) return scenario.status();
  scenario->mode = request.mode;
  Result<Simulation> simulation = simulate_within(kAffordableTasks, *scenario, {});
  if (!simulation) return simulation.status();
  PlanReport report;
  report.steps = Evaluator(request).steps(*step);
  report.step = std::move(*step);
  report.all_ranks = simulation->by != SimulatedBy::kOneRank;
  report.simulation = std::move(*simulation);
  const Result<double> uncompressed_s = uncompressed_step_s(request, report);
  if (!uncompressed_s) return uncompressed_s.status();
  Decided decided{std::move(request), std::move(report), {}, {}, {}};
  decided.gain = gain_of(decided.report, *uncompressed_s);
  add_mode(decided.request.mode, decided.gain);
  return decided;
}

std::vector<std::string> text_of_better(const Decided& decided) {
  std::vector<std::string> lines;
  bool local = false, late = false;
  for (const ModePlan& plan : decided.better) {
    bool& said = plan.mode.is_local() ? local : late;
    if (std::exchange(said, true)) continue;
    char text[320];
    std::snprintf(text, sizeof text,
                  "with %s a step would take %s, and the same loss %.2f of the time, with %.2f times as many steps as "
                  "uncompressed by trainings: ask with --allow-modes; %s",
                  text_of(plan.mode).c_str(), text_of_seconds(plan.report.simulation.step_s).c_str(),
                  part_left(decided, plan), plan.steps, what_changes(plan.mode));
    lines.emplace_back(text);
  }
  return lines;
}

std::vector<std::string> text_of_shorter(const std::vector<PublishedMethod>& methods, const PlanReport& report) {
  constexpr double kShorter = 0.99;  // of a step: predictions are no better than a hundredth
  std::vector<std::string> lines;
  for (const PublishedMethod& method : methods) {
    if (method.step_s >= kShorter * report.steps * report.simulation.step_s) continue;
    lines.push_back(method.name + " would take " + text_of_seconds(method.step_s) + " a step (" + method.detail +
                    "): --method " + method.id + " writes its plan");
  }
  return lines;
}

nlohmann::ordered_json json_of_better(const Decided& decided) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const ModePlan& plan : decided.better) {
    json.push_back({{"mode", text_of(plan.mode)},
                    {"step_ms", plan.report.simulation.step_s * 1e3},
                    {"steps", plan.steps},
                    {"time_to_loss", part_left(decided, plan)}});
  }
  return json;
}

}  // namespace casync::tools
