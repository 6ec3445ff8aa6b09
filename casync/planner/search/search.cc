// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/search/search.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "casync/planner/search/gradient_classes.h"
#include "casync/planner/search/judged_plans.h"
#include "casync/planner/search/limits.h"
#include "casync/planner/search/options.h"
#include "casync/planner/search/reasons.h"
#include "casync/planner/search/references.h"
#include "casync/planner/search/usual.h"
#include "casync/simulator/checks.h"

namespace casync {
namespace {

/// Limit on stages of outlines that improving runs through: about half a second.
constexpr std::uint64_t kStageBudget = 600'000;
constexpr double kWorthIt = 1e-6;  ///< part of a step; smaller gains count as none

/// The state of the plan while it is improved.
struct State {
  std::vector<const Option*> options;
  std::vector<int> priorities;
  Bytes fusion_bytes = Plan{}.fusion_bytes;
  double seconds = 0;  ///< of a step, times the number of steps
};

class Search {
 public:
  explicit Search(const PlanRequest& request) : request_(request), evaluator_(request), judged_(evaluator_) {}

  Result<PlanReport> run() {
    CASYNC_RETURN_IF_ERROR(check());
    Result<GradientClasses> classes = GradientClasses::make(evaluator_, step_price());
    if (!classes) return classes.status();
    classes_ = std::move(*classes);
    Result<std::vector<PlannedStep>> references = reference_plans(evaluator_);
    if (!references) return references.status();
    CASYNC_RETURN_IF_ERROR(begin(*references));
    improve();
    const State before = best_;
    simplify();
    collapse();
    CASYNC_RETURN_IF_ERROR(judged_.compare(planned(best_), planned(before), *references));
    if (judged_.report().all_ranks) CASYNC_RETURN_IF_ERROR(judged_.refine(classes_));
    PlanReport report = judged_.report();
    CASYNC_RETURN_IF_ERROR(prefer_usual(evaluator_, report.all_ranks, report.step, report.simulation));
    report.evaluations = evaluator_.evaluations();
    report.reason = reasons(evaluator_, report.step, report.simulation);
    return report;
  }

 private:
  Status check() const {
    CASYNC_RETURN_IF_ERROR(check_searched_mode(request_.mode));
    Scenario scenario{request_.topology, request_.profile, request_.training, {}, 0, request_.mode, {}};
    scenario.decisions.resize(request_.training.gradients.size());
    CASYNC_RETURN_IF_ERROR(check_scenario(scenario, {}));
    return check_limits(request_);
  }

  /// Seconds of a step that its number is priced with.
  double step_price() const {
    const Training& training = request_.training;
    return request_.more_steps ? training.backward_s + training.forward_s : 0;
  }

  double measure(State& state) {
    state.seconds =
        evaluator_.steps(state.options) * evaluator_.quick(state.options, state.priorities, state.fusion_bytes);
    return state.seconds;
  }

  Result<State> state_of(const PlannedStep& step) {
    State state;
    for (std::size_t g = 0; g < step.decisions.size(); ++g) {
      const Result<const Option*> option = evaluator_.option(g, step.decisions[g]);
      if (!option) return option.status();
      state.options.push_back(*option);
      state.priorities.push_back(step.decisions[g].priority);
    }
    state.fusion_bytes = step.fusion_bytes;
    measure(state);
    return state;
  }

  /// Starts from the best of the reference plans and the cheapest options at each price.
  Status begin(const std::vector<PlannedStep>& references) {
    for (const PlannedStep& reference : references) {
      if (!judged_.is_eligible(reference)) continue;
      Result<State> state = state_of(reference);
      if (!state) return state.status();
      consider(std::move(*state));
    }
    std::vector<int> urgent;
    for (std::size_t g = 0; g < request_.training.gradients.size(); ++g) {
      urgent.push_back(evaluator_.limits(g).priority.value_or(request_.training.gradients[g].spec.priority));
    }
    for (const Prices& prices : price_grid(step_price())) {
      State state;
      state.priorities = urgent;
      for (std::size_t g = 0; g < urgent.size(); ++g) {
        state.options.push_back(cheapest(classes_.of(g).options, prices));
      }
      measure(state);
      consider(std::move(state));
    }
    return Status::ok();
  }

  void consider(State state) {
    if (best_.options.empty() || state.seconds < best_.seconds) best_ = std::move(state);
  }

  bool affordable() {
    double stages = 0;
    for (const Option* option : best_.options) {
      stages += static_cast<double>(option->outline.stages.size()) * option->outline.rounds * option->outline.lumps;
    }
    spent_ += static_cast<std::uint64_t>(stages);
    return spent_ <= kStageBudget;
  }

  /// Sets `gradients` to each of `options` in turn and keeps the best. Returns true if the step became shorter.
  bool improve(const std::vector<std::size_t>& gradients, const std::vector<const Option*>& options) {
    bool better = false;
    for (const Option* option : options) {
      State state = best_;
      bool changed = false;
      for (const std::size_t g : gradients) changed |= std::exchange(state.options[g], option) != option;
      if (!changed) continue;
      if (!affordable()) return better;
      if (measure(state) >= best_.seconds * (1 - kWorthIt)) continue;
      best_ = std::move(state);
      better = true;
    }
    return better;
  }

  void improve() {
    const std::vector<std::size_t> order = classes_.by_bytes();
    for (bool better = true; better;) {
      better = false;
      for (const std::size_t c : order) better |= improve(classes_[c].gradients, classes_[c].options);
      // Half of a class: those that are needed first have less time than those that are needed last.
      for (const std::size_t c : order) {
        std::vector<std::size_t> half = classes_[c].gradients;
        std::stable_sort(half.begin(), half.end(),
                         [&](std::size_t a, std::size_t b) { return best_.priorities[a] < best_.priorities[b]; });
        half.resize(half.size() / 2);
        if (!half.empty()) better |= improve(half, classes_[c].options);
      }
      better |= improve_single();
      if (spent_ > kStageBudget) return;
    }
  }

  /// Improves, one by one, the gradients that the forward pass waits for longest.
  bool improve_single() {
    const Simulation simulation = evaluator_.quick_simulation(best_.options, best_.priorities, best_.fusion_bytes);
    std::vector<std::size_t> order(best_.options.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return simulation.gradients[a].waiting_s > simulation.gradients[b].waiting_s;
    });
    bool better = false;
    for (const std::size_t g : order) {
      if (simulation.gradients[g].waiting_s <= best_.seconds * kWorthIt) break;
      better |= improve({g}, classes_.of(g).options);
    }
    return better;
  }

  /// Takes back compression that does not shorten the step, small gradients first. All that is taken back
  /// together makes the step longer by no more than the predictions' error.
  void simplify() {
    std::vector<std::size_t> order = classes_.by_bytes();
    std::reverse(order.begin(), order.end());
    longest_ = best_.seconds * (1 + kNoDifference);
    for (const std::size_t c : order) {
      std::vector<std::size_t> compressed;
      for (const std::size_t g : classes_[c].gradients) {
        if (compresses(best_.options[g]->decision)) compressed.push_back(g);
      }
      for (const Option* option : classes_[c].options) {
        if (compressed.empty() || compresses(option->decision)) continue;
        State state = best_;
        for (const std::size_t g : compressed) state.options[g] = option;
        if (measure(state) > longest_) continue;
        best_ = std::move(state);
        break;
      }
    }
  }

  /// Gives sizes with a decision of their own the decision of larger ones if the step is as long, and gradients of one
  /// size one decision. Small sizes come first: the large ones' decision is the plan's.
  void collapse() {
    std::vector<std::size_t> order = classes_.by_bytes();
    for (std::size_t i = order.size(); i-- > 0;) {
      for (std::size_t k = 0; k <= i; ++k) {
        if (take_way(order[i], best_.options[classes_[order[k]].gradients.front()]->decision)) break;
      }
    }
  }

  /// Returns true if all gradients of a size may be decided like `model`, with the default partitions.
  bool take_way(std::size_t own, const Decision& model) {
    State state = best_;
    for (const std::size_t g : classes_[own].gradients) {
      if (compresses(best_.options[g]->decision) != compresses(model)) return false;
      const Limits& limits = evaluator_.limits(g);
      Decision decision = model;
      decision.priority = best_.priorities[g];
      decision.servers = limits.servers.value_or(Servers{});
      decision.partitions = limits.partitions.value_or(usual_partitions(evaluator_, g, decision));
      Decision written = decision;  // the search has no warm-up
      written.warm_up_steps = limits.warm_up_steps.value_or(0);
      if (!request_.limits.empty() && !allows(limits, request_.codecs, written)) return false;
      const Result<const Option*> option = evaluator_.option(g, decision);
      if (!option) return false;
      state.options[g] = *option;
    }
    if (measure(state) > longest_) return false;
    best_ = std::move(state);
    return true;
  }

  PlannedStep planned(const State& state) const {
    PlannedStep step{"planned", {}, state.fusion_bytes};
    for (std::size_t g = 0; g < state.options.size(); ++g) {
      step.decisions.push_back(state.options[g]->decision);
      step.decisions.back().priority = state.priorities[g];
    }
    return step;
  }

  const PlanRequest& request_;
  Evaluator evaluator_;
  JudgedPlans judged_;
  GradientClasses classes_;
  State best_;
  std::uint64_t spent_ = 0;
  double longest_ = 0;  ///< step that is as long as the best, as far as predictions can tell
};

}  // namespace

Result<PlanReport> find_plan(const PlanRequest& request) { return Search(request).run(); }

}  // namespace casync
