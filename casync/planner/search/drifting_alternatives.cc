// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/search/drifting_alternatives.h"

#include <algorithm>
#include <map>
#include <utility>

#include "casync/planner/search/limits.h"
#include "casync/planner/search/options.h"

namespace casync {
namespace {

/// A training with one gradient, which is ready and needed when it is.
PlanRequest of_one(const PlanRequest& request, std::size_t at) {
  PlanRequest made = request;
  made.training.gradients = {request.training.gradients[at]};
  made.limits.clear();
  return made;
}

}  // namespace

void sort_by_step(std::vector<Alternative>& all) {
  std::stable_sort(all.begin(), all.end(), [](const Alternative& a, const Alternative& b) {
    return std::pair(a.step_s, a.alone_s) < std::pair(b.step_s, b.alone_s);
  });
}

Result<std::vector<Alternative>> drifting_alternatives(const PlanRequest& request, const PlannedStep& step,
                                                       std::size_t at) {
  Evaluator evaluator(request);
  const PlanRequest one = of_one(request, at);
  Evaluator alone(one);
  const Result<std::vector<const Option*>> options = all_options(evaluator, at);
  if (!options) return options.status();
  const Decision& planned = step.decisions[at];
  std::vector<Decision> candidates{planned};
  for (const Option* const option : *options) {
    const bool same_way = option->decision.strategy == planned.strategy && option->decision.servers == planned.servers;
    if (same_way) candidates.push_back(option->decision);
  }
  std::map<std::string, Alternative> best;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    PlannedStep other = step;
    other.decisions[at] = candidates[i];
    other.decisions[at].priority = planned.priority;
    const Result<Simulation> together = evaluator.judge(other, true);
    if (!together && i == 0) return together.status();
    if (!together) continue;  // the mode has no such way
    const Result<Simulation> by_itself = alone.judge({step.name, {candidates[i]}, step.fusion_bytes}, true);
    if (!by_itself) return by_itself.status();
    const StepParts& parts = by_itself->parts;
    const Alternative made{
        candidates[i],    by_itself->gradients.front().sync_s,
        parts.wire_s,     parts.encode_s + parts.merge_s + parts.decode_s,
        parts.messages_s, together->step_s,
        i == 0,           i > 0 || request.limits.empty() || allows(request.limits[at], request.codecs, planned)};
    const std::string way = i == 0 ? "" : text_of(made.decision.codec) + " " + text_of(made.decision.second_hop);
    const auto [place, fresh] = best.emplace(way, made);
    if (!fresh && std::pair(made.step_s, made.alone_s) < std::pair(place->second.step_s, place->second.alone_s)) {
      place->second = made;
    }
  }
  std::vector<Alternative> all;
  for (auto& [way, alternative] : best) all.push_back(std::move(alternative));
  sort_by_step(all);
  return all;
}

}  // namespace casync
