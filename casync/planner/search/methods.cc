// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/search/methods.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "casync/patterns/partition_count.h"
#include "casync/simulator/one_rank.h"
#include "casync/simulator/outline.h"
#include "casync/simulator/rounds.h"
#include "casync/simulator/simulate.h"
#include "casync/simulator/symmetry.h"
#include "casync/simulator/sync_mode.h"

namespace casync {
namespace {

constexpr double kMostTasks = 500'000;  ///< that are simulated for one method over one strategy: a third of a second
constexpr std::array<Bytes, 7> kPartitionBytes{16_MiB, 8_MiB, 4_MiB, 2_MiB, 1_MiB, 512_KiB, 256_KiB};
constexpr std::array<int, 5> kCredits{1, 2, 4, 8, 16};

Decision uncompressed(const GradientSpec& spec, StrategyKind strategy, int partitions) {
  return in_own_type({{}, {}, strategy, partitions, spec.priority, 0}, spec.dtype);
}

Scenario scenario_of(const PlanRequest& request, Training training) {
  Scenario scenario;
  scenario.topology = request.topology;
  scenario.profile = request.profile;
  scenario.training = std::move(training);
  scenario.mode = request.mode;
  scenario.facts_of = request.facts_of;
  return scenario;
}

/// Seconds of one uncompressed gradient of float32 alone.
Result<double> alone_s(const PlanRequest& request, StrategyKind strategy, Elements elements) {
  const GradientSpec spec{"gradient", DType::kFloat32, {static_cast<std::int64_t>(elements)}, 0};
  const Result<Outline> made = outline_of(uncompressed(spec, strategy, request.topology.ranks), spec,
                                          alike_ranks(request.topology), request.profile, request.facts_of);
  if (!made) return made.status();
  return made->alone_s();
}

/// The line through the smallest gradient and all gradients as one.
Result<ChannelCost> channel_cost(const PlanRequest& request, StrategyKind strategy) {
  const auto smallest = static_cast<Elements>(request.topology.ranks);
  Bytes bytes = 0;
  for (const TrainedGradient& gradient : request.training.gradients) bytes += gradient.spec.bytes();
  const Elements all = std::max<Elements>(bytes / sizeof(float), 2 * smallest);
  const Result<double> least = alone_s(request, strategy, smallest);
  if (!least) return least.status();
  const Result<double> most = alone_s(request, strategy, all);
  if (!most) return most.status();
  const double byte_s = std::max(0.0, *most - *least) / static_cast<double>((all - smallest) * sizeof(float));
  return ChannelCost{std::max(0.0, *least - static_cast<double>(smallest * sizeof(float)) * byte_s), byte_s};
}

std::string over(const std::string& method, StrategyKind strategy) {
  return method + ", " + std::string(name_of(strategy));
}

/// The tasks that have to be simulated.
Result<double> tasks_of(const Scenario& scenario) {
  const Result<Symmetry> symmetry = symmetry_of(scenario, {});
  if (!symmetry) return symmetry.status();
  return tasks_at_most(scenario, *symmetry);
}

/// The fields of a method's plan that are alike for all gradients.
Plan plan_for(const PlanRequest& request, StrategyKind strategy) {
  Plan plan;
  plan.world.ranks = request.topology.ranks;
  plan.world.nodes = request.topology.nodes();
  plan.defaults.codec = CodecChoice{};
  plan.defaults.strategy = strategy;
  plan.fusion_bytes = 0;
  plan.mode = request.mode;
  return plan;
}

/// The name of the `at`-th group: none of a gradient.
std::string name_of_group(const Training& training, std::size_t at) {
  const auto& gradients = training.gradients;
  const auto is_taken = [&](const std::string& name) {
    return std::any_of(gradients.begin(), gradients.end(), [&](const auto& one) { return one.spec.name == name; });
  };
  std::string name = "group " + std::to_string(at + 1);
  while (is_taken(name)) name += "'";
  return name;
}

Plan plan_of_groups(const PlanRequest& request, StrategyKind strategy, const MergedGradients& merged) {
  Plan plan = plan_for(request, strategy);
  plan.defaults.partitions = request.topology.ranks;
  plan.defaults.priority = 0;
  const auto& gradients = request.training.gradients;
  for (std::size_t g = 0; g < merged.groups.size(); ++g) {
    const std::size_t end = g + 1 < merged.groups.size() ? merged.groups[g + 1] : merged.order.size();
    if (end - merged.groups[g] == 1) continue;  // sent as it is
    GradientGroup group{name_of_group(request.training, g), {}, {}};
    for (std::size_t i = merged.groups[g]; i < end; ++i) {
      group.gradients.push_back(gradients[merged.order[i]].spec.name);
    }
    plan.groups.push_back(std::move(group));
  }
  return plan;
}

Status add_groups(const PlanRequest& request, StrategyKind strategy, Merging rule,
                  std::vector<PublishedMethod>& methods) {
  const Result<MergedGradients> merged = merged_gradients(request, strategy, rule);
  if (!merged) return merged.status();
  Scenario scenario = scenario_of(request, merged_training(request.training, *merged));
  for (const TrainedGradient& group : scenario.training.gradients) {
    scenario.decisions.push_back(uncompressed(group.spec, strategy, request.topology.ranks));
  }
  const Result<double> tasks = tasks_of(scenario);
  if (!tasks) return tasks.status();
  const bool every_task = *tasks <= kMostTasks;
  if (!every_task && !alike(request.topology)) return Status::ok();
  const Result<Simulation> simulation = every_task ? simulate(scenario, {}) : simulate_one_rank(scenario, {});
  if (!simulation) return simulation.status();
  const std::string name = rule == Merging::kMgWfbp ? "MG-WFBP's groups" : "best groups of neighbours";
  methods.push_back(
      {rule == Merging::kMgWfbp ? "mg_wfbp" : "best_groups", over(name, strategy), simulation->step_s,
       std::to_string(merged->groups.size()) + " groups of " + std::to_string(merged->order.size()) + " gradients",
       plan_of_groups(request, strategy, *merged)});
  return Status::ok();
}

std::string text_of_size(Bytes bytes) {
  return bytes >= 1_MiB ? std::to_string(bytes / 1_MiB) + " MiB" : std::to_string(bytes / 1_KiB) + " KiB";
}

Status add_credit(const PlanRequest& request, StrategyKind strategy, std::vector<PublishedMethod>& methods) {
  const Result<std::optional<CreditSetting>> found = best_credit(request, strategy);
  if (!found) return found.status();
  if (!*found) return Status::ok();
  const CreditSetting& best = **found;
  Plan plan = plan_for(request, strategy);
  plan.defaults.partition_bytes = best.partition_bytes;
  plan.credit_bytes = best.credit_bytes;
  methods.push_back(
      {"bytescheduler", over("ByteScheduler with a credit", strategy), best.step_s,
       "partitions of " + text_of_size(best.partition_bytes) + ", a credit of " + text_of_size(best.credit_bytes),
       std::move(plan)});
  return Status::ok();
}

/// Elements of half precision are coded on their way, which not every strategy carries.
bool carries_all(const PlanRequest& request, StrategyKind strategy) {
  const AlikeRanks ranks = alike_ranks(request.topology);
  const auto& gradients = request.training.gradients;
  return std::all_of(gradients.begin(), gradients.end(), [&](const TrainedGradient& gradient) {
    const Decision decision = uncompressed(gradient.spec, strategy, 1);
    return outline_of(decision, gradient.spec, ranks, request.profile, request.facts_of).is_ok();
  });
}

}  // namespace

Result<MergedGradients> merged_gradients(const PlanRequest& request, StrategyKind strategy, Merging rule) {
  const Result<ChannelCost> cost = channel_cost(request, strategy);
  if (!cost) return cost.status();
  const Training training = exchanges_of(request.training, request.mode).training;
  MergedGradients merged;
  merged.order.resize(training.gradients.size());
  std::iota(merged.order.begin(), merged.order.end(), std::size_t{0});
  // The training's own order, also in a mode where all are ready at once: grouped() has it.
  const auto& own_order = request.training.gradients;
  std::stable_sort(merged.order.begin(), merged.order.end(),
                   [&](std::size_t a, std::size_t b) { return own_order[a].ready_s < own_order[b].ready_s; });
  std::vector<ReadyMessage> messages;
  const TrainedGradient* before = nullptr;
  for (const std::size_t g : merged.order) {
    const TrainedGradient& own = training.gradients[g];
    const bool may_join =
        before != nullptr && before->spec.dtype == own.spec.dtype && !before->spec.scattered && !own.spec.scattered;
    messages.push_back({own.ready_s, static_cast<double>(own.spec.bytes()), may_join});
    before = &own;
  }
  merged.groups = rule == Merging::kMgWfbp ? merged_groups(messages, *cost) : best_groups(messages, *cost);
  return merged;
}

Training merged_training(const Training& training, const MergedGradients& merged) {
  Training made = training;
  made.gradients.clear();
  for (std::size_t group = 0; group < merged.groups.size(); ++group) {
    const std::size_t end = group + 1 < merged.groups.size() ? merged.groups[group + 1] : merged.order.size();
    TrainedGradient whole = training.gradients[merged.order[merged.groups[group]]];
    Elements elements = 0;
    for (std::size_t i = merged.groups[group]; i < end; ++i) {
      const TrainedGradient& one = training.gradients[merged.order[i]];
      elements += one.spec.elements();
      whole.ready_s = std::max(whole.ready_s, one.ready_s);
      whole.need_s = std::min(whole.need_s, one.need_s);
    }
    if (end - merged.groups[group] > 1) whole.spec.name = name_of_group(training, group);
    whole.spec.shape = {static_cast<std::int64_t>(elements)};
    whole.spec.priority = 0;  // first come, first served
    made.gradients.push_back(std::move(whole));
  }
  return made;
}

std::span<const Bytes> credit_partition_bytes() { return kPartitionBytes; }
std::span<const int> credit_partitions() { return kCredits; }

Result<std::optional<CreditSetting>> best_credit(const PlanRequest& request, StrategyKind strategy) {
  std::optional<CreditSetting> best;
  double tasks = 0;
  for (const Bytes bytes : kPartitionBytes) {
    Scenario scenario = scenario_of(request, request.training);
    for (const TrainedGradient& gradient : request.training.gradients) {
      const int partitions = choose_partitions(gradient.spec.bytes(), request.topology.ranks, bytes);
      scenario.decisions.push_back(uncompressed(gradient.spec, strategy, partitions));
    }
    const Result<double> each = tasks_of(scenario);
    if (!each) return each.status();
    tasks += static_cast<double>(kCredits.size()) * *each;
    if (tasks > kMostTasks) break;
    for (const int credit : kCredits) {
      scenario.credit_bytes = static_cast<Bytes>(credit) * bytes;
      const Result<Simulation> simulation = simulate(scenario, {});
      if (!simulation) return simulation.status();
      if (best && simulation->step_s >= best->step_s) continue;
      best = CreditSetting{bytes, scenario.credit_bytes, simulation->step_s};
    }
  }
  return best;
}

Result<std::vector<PublishedMethod>> published_methods(const PlanRequest& request) {
  std::vector<PublishedMethod> methods;
  if (request.topology.ranks < 2 || request.training.gradients.empty()) return methods;
  for (const StrategyKind strategy : {StrategyKind::kPs, StrategyKind::kRing}) {
    if (!carries_all(request, strategy)) continue;
    for (const Merging rule : {Merging::kMgWfbp, Merging::kBest}) {
      CASYNC_RETURN_IF_ERROR(add_groups(request, strategy, rule, methods));
    }
    CASYNC_RETURN_IF_ERROR(add_credit(request, strategy, methods));
  }
  return methods;
}

}  // namespace casync
