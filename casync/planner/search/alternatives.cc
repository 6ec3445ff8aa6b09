// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/search/alternatives.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/nearest.h"
#include "casync/planner/search/bandwidth.h"
#include "casync/planner/search/drifting_alternatives.h"
#include "casync/planner/search/limits.h"
#include "casync/planner/search/options.h"
#include "casync/simulator/checks.h"

namespace casync {
namespace {

constexpr double kSmallest = 4096, kLargest = 1 << 30;  // bytes
constexpr double kAsManySteps = 0.01;                   // more steps, as a share, that count as none
constexpr std::uint64_t kAllRanksTasks = 1'500'000;     // of a step that all ranks are simulated for: a second

Status check(const PlanRequest& request) {
  Scenario scenario{request.topology, request.profile, request.training, {}, 0, request.mode, {}};
  scenario.decisions.resize(request.training.gradients.size());
  CASYNC_RETURN_IF_ERROR(check_scenario(scenario, {}));
  return check_limits(request);
}

Result<std::size_t> position_of(const Training& training, const std::string& name) {
  std::vector<std::string_view> names;
  for (std::size_t g = 0; g < training.gradients.size(); ++g) {
    if (training.gradients[g].spec.name == name) return g;
    names.push_back(training.gradients[g].spec.name);
  }
  return invalid_argument("the model has no gradient `" + name + "`" + hint(name, names));
}

/// Values from `first` to `last`, in equal proportions.
std::vector<double> scale(double first, double last, std::size_t count) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    const double part = count > 1 ? static_cast<double>(i) / static_cast<double>(count - 1) : 0;
    values.push_back(first * std::pow(last / first, part));
  }
  return values;
}

TrainedGradient sized(double bytes) {
  TrainedGradient gradient;
  gradient.spec.name = "gradient";
  gradient.spec.shape = {static_cast<std::int64_t>(bytes / 4)};
  return gradient;
}

/// Every distinct set of limits that the existing gradients have, for gradients of any size; and together with each,
/// sending uncompressed. Empty: all codecs, and nothing is fixed.
std::vector<Limits> limits_of_any(const PlanRequest& request) {
  std::vector<Limits> all;
  const auto add = [&](const Limits& limits) {
    if (std::find(all.begin(), all.end(), limits) == all.end()) all.push_back(limits);
  };
  for (const Limits& own : request.limits) {
    Limits plain, sized = own;
    plain.strategy = own.strategy;
    plain.servers = own.servers;
    sized.partitions.reset();  // which follow from that gradient's size
    sized.priority.reset();
    sized.warm_up_steps.reset();
    sized.warm_up_from.reset();
    sized.residual_memory.reset();
    add(plain);
    add(sized);
  }
  return all;
}

/// A gradient of each size within each of the limits, sizes first. They lose what typical gradients do, since none of
/// them was recorded.
PlanRequest with_sizes(const PlanRequest& request, const std::vector<double>& sizes) {
  PlanRequest made = request;
  const std::vector<Limits> limits = limits_of_any(request);
  made.training.gradients.clear();
  made.limits.clear();
  for (CodecOffer& offer : made.codecs) offer.recorded.clear();
  for (const double bytes : sizes) {
    made.training.gradients.insert(made.training.gradients.end(), std::max<std::size_t>(limits.size(), 1),
                                   sized(bytes));
    made.limits.insert(made.limits.end(), limits.begin(), limits.end());
  }
  return made;
}

/// The option that finishes soonest alone, for gradients `first` to `last`, which are of one size.
Result<Crossover::Cell> soonest(Evaluator& evaluator, std::size_t first, std::size_t last) {
  Crossover::Cell cell{{}, INFINITY, INFINITY};
  for (std::size_t at = first; at < last; ++at) {
    const Result<std::vector<const Option*>> options = all_options(evaluator, at);
    if (!options) return options.status();
    const auto& more_steps = evaluator.request().more_steps;
    for (const Option* option : *options) {
      const Decision& decision = option->decision;
      if (more_steps && more_steps(decision.codec, decision.second_hop) > kAsManySteps) continue;
      const double seconds = option->outline.alone_s();
      if (!compresses(option->decision)) cell.plain_s = std::min(cell.plain_s, seconds);
      if (seconds >= cell.seconds) continue;
      cell.decision = option->decision;
      cell.seconds = seconds;
    }
  }
  return cell;
}

}  // namespace

Result<std::vector<Alternative>> alternatives(const PlanRequest& request, const PlannedStep& step,
                                              const std::string& gradient) {
  CASYNC_RETURN_IF_ERROR(check(request));
  const Result<std::size_t> at = position_of(request.training, gradient);
  if (!at) return at.status();
  if (request.mode.is_gossip() || request.mode.is_asynchronous()) return drifting_alternatives(request, step, *at);
  Evaluator evaluator(request);
  std::vector<const Option*> options;
  std::vector<int> priorities;
  for (std::size_t g = 0; g < step.decisions.size(); ++g) {
    const Result<const Option*> option = evaluator.option(g, step.decisions[g]);
    if (!option) return option.status();
    options.push_back(*option);
    priorities.push_back(step.decisions[g].priority);
  }
  Result<std::vector<const Option*>> candidates = all_options(evaluator, *at);
  if (!candidates) return candidates.status();
  const Option* const planned = options[*at];
  const Result<Simulation> judged = evaluator.judge(step, tasks_of(step, request.topology.ranks) <= kAllRanksTasks);
  if (!judged) return judged.status();
  const double offset = judged->step_s - evaluator.quick(options, priorities, step.fusion_bytes);
  std::map<std::string, Alternative> best;
  candidates->insert(candidates->begin(), planned);
  for (const Option* option : *candidates) {
    if (option == planned && best.contains("")) continue;
    options[*at] = option;
    const Alternative made{option->decision,
                           option->outline.alone_s(),
                           option->outline.busiest_port_s(),
                           option->outline.codec_s(),
                           option->outline.messages_s(),
                           evaluator.quick(options, priorities, step.fusion_bytes) + offset,
                           option == planned,
                           request.limits.empty() || option != planned ||
                               allows(request.limits[*at], request.codecs, step.decisions[*at])};
    const Decision& decision = option->decision;
    const std::string way = option == planned ? ""
                                              : text_of(decision.codec) + " " + text_of(decision.second_hop) + " " +
                                                    std::string(name_of(decision.strategy));
    const auto [place, fresh] = best.emplace(way, made);
    if (!fresh && std::pair(made.step_s, made.alone_s) < std::pair(place->second.step_s, place->second.alone_s)) {
      place->second = made;
    }
  }
  std::vector<Alternative> all;
  all.reserve(best.size());
  for (auto& [way, alternative] : best) all.push_back(std::move(alternative));
  sort_by_step(all);
  return all;
}

Result<Crossover> crossover(const PlanRequest& request, std::size_t bandwidths, std::size_t sizes) {
  CASYNC_RETURN_IF_ERROR(check_searched_mode(request.mode));
  CASYNC_RETURN_IF_ERROR(check(request));
  Crossover made;
  made.bytes_per_second = scale(kSlowestBandwidth, kFastestBandwidth, bandwidths);
  made.bytes = scale(kSmallest, kLargest, sizes);
  for (double& bytes : made.bytes) bytes = 4 * std::round(bytes / 4);  // of whole elements
  made.pays_below.resize(sizes);
  const PlanRequest sized_request = with_sizes(request, made.bytes);
  const std::size_t each = sized_request.training.gradients.size() / std::max<std::size_t>(sizes, 1);
  for (const double bandwidth : made.bytes_per_second) {
    const PlanRequest other = with_bandwidth(sized_request, bandwidth);
    Evaluator evaluator(other);
    for (std::size_t size = 0; size < sizes; ++size) {
      Result<Crossover::Cell> cell = soonest(evaluator, size * each, (size + 1) * each);
      if (!cell) return cell.status();
      if (compresses(cell->decision)) made.pays_below[size] = bandwidth;
      made.cells.push_back(std::move(*cell));
    }
  }
  return made;
}

}  // namespace casync
