// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/search/drifting_alternatives.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
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

/// The options that differ from the planned way, and have its strategy and servers.
std::vector<Decision> other_ways(const std::vector<const Option*>& options, const Decision& planned) {
  std::vector<Decision> ways;
  for (const Option* const option : options) {
    const Decision& way = option->decision;
    if (way.strategy != planned.strategy || !(way.servers == planned.servers)) continue;
    const bool is_planned = way.codec == planned.codec && way.second_hop == planned.second_hop;
    if (!is_planned || way.partitions != planned.partitions) ways.push_back(way);
  }
  return ways;
}

/// The way of each pair of codecs whose number of partitions is the nearest to that many.
std::vector<Decision> nearest_to(int partitions, const std::vector<Decision>& ways) {
  const auto distance = [&](const Decision& way) { return std::abs(way.partitions - partitions); };
  std::vector<Decision> nearest;
  for (const Decision& way : ways) {
    const auto known = std::find_if(nearest.begin(), nearest.end(), [&](const Decision& other) {
      return other.codec == way.codec && other.second_hop == way.second_hop;
    });
    if (known == nearest.end()) {
      nearest.push_back(way);
    } else if (distance(way) < distance(*known)) {
      *known = way;
    }
  }
  return nearest;
}

bool is_shorter(const Alternative& a, const Alternative& b) {
  return std::pair(a.step_s, a.alone_s) < std::pair(b.step_s, b.alone_s);
}

}  // namespace

void sort_by_step(std::vector<Alternative>& all) { std::stable_sort(all.begin(), all.end(), is_shorter); }

Result<std::vector<Alternative>> drifting_alternatives(const PlanRequest& request, const PlannedStep& step,
                                                       std::size_t at, std::uint64_t most_tasks) {
  Evaluator evaluator(request);
  const PlanRequest one = of_one(request, at);
  Evaluator alone(one);
  const Result<std::vector<const Option*>> options = all_options(evaluator, at);
  if (!options) return options.status();
  const Result<Simulation> as_planned = evaluator.judge(step, true);
  if (!as_planned) return as_planned.status();
  const Decision& planned = step.decisions[at];
  std::vector<Decision> candidates = other_ways(*options, planned);
  const bool nearest = as_planned->tasks * candidates.size() > most_tasks;
  if (nearest) candidates = nearest_to(planned.partitions, candidates);
  candidates.insert(candidates.begin(), planned);
  std::map<std::string, Alternative> best;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    PlannedStep other = step;
    other.decisions[at] = candidates[i];
    other.decisions[at].priority = planned.priority;
    const Result<Simulation> together = i == 0 ? as_planned : evaluator.judge(other, true);
    if (!together) continue;  // the mode has no such way
    const std::string way = i == 0 ? "" : text_of(candidates[i].codec) + " " + text_of(candidates[i].second_hop);
    const auto known = best.find(way);
    if (known != best.end() && known->second.step_s < together->step_s) continue;
    const Result<Simulation> by_itself = alone.judge({step.name, {candidates[i]}, step.fusion_bytes}, true);
    if (!by_itself) return by_itself.status();
    const StepParts& parts = by_itself->parts;
    const Alternative made{
        candidates[i],    by_itself->gradients.front().sync_s,
        parts.wire_s,     parts.encode_s + parts.merge_s + parts.decode_s,
        parts.messages_s, together->step_s,
        i == 0,           i > 0 || request.limits.empty() || allows(request.limits[at], request.codecs, planned),
        nearest};
    if (known == best.end()) {
      best.emplace(way, made);
    } else if (is_shorter(made, known->second)) {
      known->second = made;
    }
  }
  std::vector<Alternative> all;
  for (auto& [way, alternative] : best) all.push_back(std::move(alternative));
  sort_by_step(all);
  return all;
}

}  // namespace casync
