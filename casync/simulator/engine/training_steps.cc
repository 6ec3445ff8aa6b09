// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/engine/training_steps.h"

#include <algorithm>
#include <tuple>

#include "casync/simulator/engine/engine.h"
#include "casync/simulator/sync_mode.h"

namespace casync::engine {
namespace {

constexpr std::uint64_t kMostDraws = 10'000;  // of one exchange; the mean of more differs by less than a hundredth

/// The mean part of the jitter in exchange number `exchange` of a rank: each of its `steps` steps draws its own.
double mean_draw(std::uint64_t seed, Rank rank, int exchange, int steps) {
  const std::uint64_t first = static_cast<std::uint64_t>(exchange) * static_cast<std::uint64_t>(steps);
  const std::uint64_t draws = std::min(static_cast<std::uint64_t>(steps), kMostDraws);
  double sum = 0;
  for (std::uint64_t step = first; step < first + draws; ++step) {
    sum += drawn_for(seed, static_cast<std::uint64_t>(rank), step);
  }
  return sum / static_cast<double>(draws);
}

}  // namespace

TrainingSteps::TrainingSteps(Engine& engine)
    : engine_(engine), milestones_(milestones_of(engine)), ranks_(engine.tasks.ranks()) {}

std::vector<TrainingSteps::Milestone> TrainingSteps::milestones_of(const Engine& engine) {
  const Training& training = engine.scenario.training;
  std::vector<Milestone> all;
  for (std::uint32_t g = 0; g < training.gradients.size(); ++g) {
    all.push_back({training.gradients[g].ready_s, Milestone::Kind::kReady, g});
    all.push_back({training.backward_s + training.gradients[g].need_s, Milestone::Kind::kNeed, g});
  }
  all.push_back({training.backward_s, Milestone::Kind::kBackwardEnd, 0});
  all.push_back({training.backward_s + training.forward_s, Milestone::Kind::kStepEnd, 0});
  std::stable_sort(all.begin(), all.end(), [](const Milestone& a, const Milestone& b) {
    return std::tie(a.position, a.kind) < std::tie(b.position, b.kind);
  });
  return all;
}

double TrainingSteps::factor_of(Rank rank, int step) const {
  const Training& training = engine_.scenario.training;
  const double jitter = engine_.options.jitter + training.jitter;
  const double slowness = engine_.processors.slowness_of(rank) * training.slowness_of(rank);
  if (jitter == 0) return slowness;
  const int steps = steps_of_exchange(engine_.scenario.mode);
  return slowness * (1 + jitter * mean_draw(engine_.options.seed, rank, step, steps));
}

void TrainingSteps::begin() {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) begin_step(static_cast<Rank>(rank));
}

void TrainingSteps::begin_step(Rank rank) {
  OfRank& own = of(rank);
  own.milestone = 0;
  own.submitted = 0;
  own.step_began = own.pass_began = engine_.clock.now();
  own.factor = factor_of(rank, own.step);
  go_on(rank);
}

/// Goes on to the next milestone.
void TrainingSteps::go_on(Rank rank) {
  const OfRank& own = of(rank);
  const double from = own.milestone == 0 ? 0 : milestones_[own.milestone - 1].position;
  engine_.training_work.start(rank, (milestones_[own.milestone].position - from) * own.factor,
                              engine_.processors.training_rate(rank));
}

void TrainingSteps::pass(Rank rank) {
  OfRank& own = of(rank);
  const Milestone& here = milestones_[own.milestone];
  engine_.training_work.stop(rank);
  engine_.processors.mark(rank);
  const auto pass_ends = [&](SimulatedKind kind) {
    engine_.record.keep_pass(kind, rank, own.step, own.pass_began, engine_.clock.now());
    own.pass_began = engine_.clock.now();
  };
  switch (here.kind) {
    case Milestone::Kind::kReady: submit(rank, here.gradient); break;
    case Milestone::Kind::kBackwardEnd: pass_ends(SimulatedKind::kBackward); break;
    case Milestone::Kind::kNeed:
      if (is_missing(rank, here.gradient)) {
        own.blocked = true;
        own.blocked_since = engine_.clock.now();
        return;
      }
      break;
    case Milestone::Kind::kStepEnd: pass_ends(SimulatedKind::kForward); return end_step(rank);
  }
  ++own.milestone;
  go_on(rank);
}

void TrainingSteps::look_again(Rank rank) {
  OfRank& own = of(rank);
  if (!own.blocked) return;
  const std::uint32_t missed = milestones_[own.milestone].gradient;
  if (is_missing(rank, missed)) return;
  own.blocked = false;
  engine_.record.add_waiting(rank, missed, engine_.clock.now() - own.blocked_since);
  engine_.training_work.start(rank, 0, 1);
  engine_.processors.mark(rank);
}

void TrainingSteps::submit(Rank rank, std::uint32_t gradient) {
  if (engine_.drifting.submit_late(rank)) return;
  OfRank& own = of(rank);
  if (++own.submitted == engine_.tasks.gradients()) engine_.drifting.contribute(rank);
  engine_.progress.begin_run(rank, gradient, own.step);
}

/// Returns true if the step under way needs a result that is not there.
bool TrainingSteps::is_missing(Rank rank, std::uint32_t gradient) const {
  const int step = step_of(rank);
  if (const std::optional<bool> late = engine_.drifting.may_end_late(rank, step)) return !*late;
  return engine_.progress.is_active(engine_.tasks.run_of(rank, gradient, step));
}

void TrainingSteps::end_step(Rank rank) {
  OfRank& own = of(rank);
  const Training& training = engine_.scenario.training;
  const double now = engine_.clock.now(), alone = (training.backward_s + training.forward_s) * own.factor;
  engine_.record.add(rank, &StepParts::training_s, alone);
  engine_.record.add(rank, &StepParts::exposed_s, now - own.step_began - alone);
  engine_.record.step_ended(now);
  ++own.step;
  if (engine_.drifting.end_step(rank).value_or(own.step < engine_.options.steps)) return begin_step(rank);
  ++ranks_done_;
  engine_.drifting.end_rank(rank);
}

}  // namespace casync::engine
