// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/planning/gain.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "casync/planner/search/options.h"
#include "casync/planner/search/reasons.h"

namespace casync::tools {

Gain gain_of(const PlanReport& report, double uncompressed_s) {
  Gain gain;
  gain.uncompressed_s = uncompressed_s;
  gain.planned_s = report.simulation.step_s;
  const auto& decisions = report.step.decisions;
  gain.steps = report.steps;
  gain.compresses = std::any_of(decisions.begin(), decisions.end(), compresses);
  return gain;
}

std::string text_of(const Gain& gain) {
  char times[32];
  std::snprintf(times, sizeof times, "%.2f x: ", gain.times());
  const std::string steps = text_of_seconds(gain.uncompressed_s) + " a step uncompressed, " +
                            text_of_seconds(gain.planned_s) + " with this plan" +
                            (gain.mode.empty() ? "" : " and " + gain.mode);
  return times + steps + (gain.compresses ? " (predicted)" : ", which compresses nothing (predicted)");
}

std::string text_of_steps(const Gain& gain) {
  if (!gain.mode_is_trained) return "to the same loss: no training has measured how many steps " + gain.mode + " takes";
  if (!gain.compresses && gain.mode.empty()) return "";
  if (gain.steps <= 1) return "to the same loss: as many steps as uncompressed, as far as trainings can tell";
  char text[160];
  std::snprintf(text, sizeof text,
                "to the same loss: %.2f x, with %.2f times as many steps as uncompressed by trainings",
                gain.times() / gain.steps, gain.steps);
  return text;
}

std::string text_of_rejected(const PlanReport& report) {
  const PlanReport::Compared* shortest = nullptr;
  for (const PlanReport::Compared& other : report.compared) {
    if (shortest == nullptr || other.step_s < shortest->step_s) shortest = &other;
  }
  constexpr double kShorter = 0.99;  // of a step: predictions are no better than a hundredth
  if (shortest == nullptr || shortest->step_s >= kShorter * report.simulation.step_s) return "";
  if (shortest->steps <= report.steps) return "";
  char steps[64] = "no training has measured it";
  if (std::isfinite(shortest->steps))
    std::snprintf(steps, sizeof steps, "it needs %.2f times as many steps", shortest->steps);
  return shortest->name + " has a shorter step, " + text_of_seconds(shortest->step_s) + ", but " + steps;
}

std::string text_of_assumed(const std::vector<std::string>& codecs) {
  std::string names;
  for (const std::string& name : codecs) names += (names.empty() ? "" : ", ") + name;
  if (names.empty()) return "";
  return "assumed, not measured: the costs of " + names +
         ", at the memory's speed, which no codec exceeds; `casync profile --codecs` measures them";
}

}  // namespace casync::tools
