// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/search/evaluator.h"

#include <algorithm>

#include "casync/planner/search/limits.h"
#include "casync/simulator/rounds.h"
#include "casync/strategies/reduce_scatter.h"

namespace casync {

Decision in_own_type(Decision decision, DType dtype) {
  for (CodecChoice* choice : {&decision.codec, &decision.second_hop}) {
    if (choice->name == "none") *choice = plain_codec(dtype);
  }
  return decision;
}

Evaluator::Evaluator(const PlanRequest& request)
    : request_(request),
      ranks_(alike_ranks(request.topology)),
      exchanges_(exchanges_of(request.training, request.mode)),
      rank_(exchanges_.training, request.profile) {
  for (const TrainedGradient& gradient : request.training.gradients) {
    elements_ += static_cast<double>(gradient.spec.elements());
  }
  no_limits_.max_error = request.max_error;
  const auto has_rounds = [&](const CodecChoice& choice) {
    const Result<CodecFacts> codec = facts(choice);
    return codec && codec->rounds;
  };
  for (std::size_t i = 0; i < request.codecs.size(); ++i) {
    no_limits_.offers.push_back(i);
    losses_differ_ = losses_differ_ || !request.codecs[i].recorded.empty();
    shapes_count_ = shapes_count_ || has_rounds(request.codecs[i].choice);
  }
  for (const Limits& limits : request.limits) {
    shapes_count_ = shapes_count_ || (limits.codec && has_rounds(*limits.codec));
    const auto first = std::find(request.limits.begin(), request.limits.end(), limits);
    limits_alike_.push_back(static_cast<std::size_t>(first - request.limits.begin()));
  }
}

std::string Evaluator::kind_of(std::size_t at) {
  const GradientSpec& spec = request_.training.gradients[at].spec;
  const std::int64_t rows = shapes_count_ && spec.shape.size() > 1 ? spec.shape.front() : 0;
  return std::to_string(spec.elements()) + " " + std::string(name_of(spec.dtype)) + " " + std::to_string(rows) +
         (spec.scattered ? " scattered" : "") + (limits_alike_.empty() ? "" : " " + std::to_string(limits_alike_[at])) +
         merged_again(at);
}

/// Lists the codecs that may be merged again at each hop, by strategy, if that differs from gradient to gradient.
std::string Evaluator::merged_again(std::size_t at) {
  if (!losses_differ_) return "";
  std::string may = " ";
  for (const CodecOffer& offer : request_.codecs) {
    const Result<CodecFacts> codec = facts(offer.choice);
    for (const Strategy& strategy : strategies()) {
      if (strategy.encodings == nullptr) continue;
      may += codec && may_merge_again(request_, limits(at), at, offer.choice, codec->traits, strategy.kind) ? 'y' : 'n';
    }
  }
  return may;
}

Result<CodecFacts> Evaluator::facts(const CodecChoice& choice) {
  const std::string name = text_of(choice);
  const auto known = facts_.find(name);
  if (known != facts_.end()) return known->second;
  return facts_.emplace(name, request_.facts_of(choice)).first->second;
}

Result<const Option*> Evaluator::option(std::size_t at, const Decision& decision) {
  const GradientSpec& spec = request_.training.gradients[at].spec;
  // Tells scattered gradients apart: nothing of them comes back, whatever codec the second hop has.
  const std::string way = std::string(name_of(spec.dtype)) + (spec.scattered ? " scattered " : " ") +
                          text_of(decision.codec) + " " + text_of(decision.second_hop) + " " +
                          std::to_string(static_cast<int>(decision.strategy));
  const std::string key = std::to_string(spec.elements()) + " " + std::to_string(decision.partitions) + " " +
                          std::to_string(decision.servers.count) + (decision.servers.dedicated ? "d " : " ") + way;
  const auto known = options_.find(key);
  if (known != options_.end()) return known->second.get();
  Decision own = in_own_type(decision, spec.dtype);
  if (const Result<CodecFacts> codec = facts(decision.codec); codec && codec->rounds) {
    return option_of_rounds(at, own, key);
  }
  if (spec.scattered) scatter(request_.topology.ranks, own);
  auto costs = costs_.find(way);
  if (costs == costs_.end()) {
    Result<HopCosts> made =
        hop_costs(own, spec.dtype, request_.profile, [&](const CodecChoice& choice) { return facts(choice); });
    if (!made) return Status(made.status().code(), "gradient " + spec.name + ": " + made.status().message());
    costs = costs_.emplace(way, std::move(*made)).first;
  }
  const double task_s =
      spec.scattered ? request_.profile.task_s : task_seconds(request_.profile, own, spec.dtype, spec.elements());
  Outline made = outline(own, spec.elements(), ranks_, request_.profile, costs->second, task_s, spec.scattered);
  return options_.emplace(key, std::make_unique<Option>(Option{decision, std::move(made), more_steps(at, decision)}))
      .first->second.get();
}

/// Matrices of one size may have different shapes.
Result<const Option*> Evaluator::option_of_rounds(std::size_t at, const Decision& decision, const std::string& key) {
  const GradientSpec& spec = request_.training.gradients[at].spec;
  const std::string with_shape = key + " " + std::to_string(spec.shape.size() < 2 ? 0 : spec.shape.front());
  const auto known = options_.find(with_shape);
  if (known != options_.end()) return known->second.get();
  Result<Outline> made =
      outline_of(decision, spec, ranks_, request_.profile, [&](const CodecChoice& choice) { return facts(choice); });
  if (!made) return Status(made.status().code(), "gradient " + spec.name + ": " + made.status().message());
  return options_
      .emplace(with_shape, std::make_unique<Option>(Option{decision, std::move(*made), more_steps(at, decision)}))
      .first->second.get();
}

double Evaluator::more_steps(std::size_t at, const Decision& decision) const {
  const auto own = static_cast<double>(request_.training.gradients[at].spec.elements());
  if (!request_.more_steps || own == 0) return 0;
  return own / elements_ * request_.more_steps(decision.codec, decision.second_hop);
}

double Evaluator::steps(std::span<const Option* const> options) const {
  double steps = 1;
  for (const Option* option : options) steps += option->more_steps;
  return steps;
}

double Evaluator::steps(const PlannedStep& step) const {
  double steps = 1;
  for (std::size_t g = 0; g < step.decisions.size(); ++g) steps += more_steps(g, step.decisions[g]);
  return steps;
}

const Outline* const* Evaluator::outlines_of(std::span<const Option* const> options) {
  outlines_.clear();
  for (const Option* option : options) outlines_.push_back(&option->outline);
  ++evaluations_;
  return outlines_.data();
}

double Evaluator::quick(std::span<const Option* const> options, std::span<const int> priorities, Bytes fusion_bytes) {
  return rank_.step_seconds({outlines_of(options), options.size()}, priorities, fusion_bytes) / exchanges_.steps;
}

Simulation Evaluator::quick_simulation(std::span<const Option* const> options, std::span<const int> priorities,
                                       Bytes fusion_bytes) {
  return mean_of_steps(rank_.run({outlines_of(options), options.size()}, priorities, fusion_bytes), exchanges_.steps);
}

std::uint64_t tasks_of(const PlannedStep& step, int ranks) {
  double tasks = 0;
  for (const Decision& decision : step.decisions) tasks += 6.0 * decision.partitions * ranks;
  return static_cast<std::uint64_t>(tasks);
}

Result<Simulation> Evaluator::judge(const PlannedStep& step, bool all_ranks) {
  if (!all_ranks) {
    std::vector<const Option*> options;
    std::vector<int> priorities;
    for (std::size_t g = 0; g < step.decisions.size(); ++g) {
      const Result<const Option*> made = option(g, step.decisions[g]);
      if (!made) return made.status();
      options.push_back(*made);
      priorities.push_back(step.decisions[g].priority);
    }
    return quick_simulation(options, priorities, step.fusion_bytes);
  }
  Scenario scenario{request_.topology,
                    request_.profile,
                    request_.training,
                    {},
                    step.fusion_bytes,
                    request_.mode,
                    [&](const CodecChoice& choice) { return facts(choice); }};
  scenario.seed = request_.seed;
  for (std::size_t g = 0; g < step.decisions.size(); ++g) {
    scenario.decisions.push_back(in_own_type(step.decisions[g], request_.training.gradients[g].spec.dtype));
  }
  return simulate(scenario, {});
}

}  // namespace casync
