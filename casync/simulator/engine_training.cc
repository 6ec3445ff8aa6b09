// SPDX-License-Identifier: Apache-2.0
//
// The training that synchronization runs with: it makes gradients, and stops where one is missing.
#include <algorithm>
#include <tuple>

#include "casync/simulator/engine.h"

namespace casync {
std::vector<Engine::Milestone> Engine::milestones() const {
  const Training& training = scenario_.training;
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

double Engine::factor_of(Rank rank, int step) const {
  const auto r = static_cast<std::size_t>(rank);
  const double slowness = options_.slowness.empty() ? 1 : options_.slowness[r];
  const Training& training = scenario_.training;
  const double jitter = options_.jitter + training.jitter;
  return slowness * training.slowness_of(rank) *
         (1 + jitter * drawn_for(options_.seed, r, static_cast<std::uint64_t>(step)));
}

void Engine::begin_step(Rank rank) {
  RankState& own = state(rank);
  own.milestone = 0;
  own.submitted = 0;
  own.step_began = own.pass_began = now_;
  own.factor = factor_of(rank, own.step);
  go_on(rank);
}

/// Goes on to the next milestone.
void Engine::go_on(Rank rank) {
  RankState& own = state(rank);
  const double from = own.milestone == 0 ? 0 : milestones_[own.milestone - 1].position;
  const double seconds = (milestones_[own.milestone].position - from) * own.factor;
  start(own.training, seconds, training_rate(rank), Event::Kind::kTraining, rank);
}

/// Handles a milestone.
void Engine::pass(Rank rank) {
  RankState& own = state(rank);
  const Milestone& here = milestones_[own.milestone];
  own.training.running = false;
  mark(rank);
  const auto pass_ends = [&](SimulatedKind kind) {
    if (options_.spans) spans_.push_back({kind, rank, own.step, 0, 0, 0, -1, 0, own.pass_began, now_});
    own.pass_began = now_;
  };
  switch (here.kind) {
    case Milestone::Kind::kReady: submit(rank, here.gradient); break;
    case Milestone::Kind::kBackwardEnd: pass_ends(SimulatedKind::kBackward); break;
    case Milestone::Kind::kNeed:
      if (is_missing(rank, here.gradient)) {
        own.blocked = true;
        own.blocked_since = now_;
        return;
      }
      break;
    case Milestone::Kind::kStepEnd: pass_ends(SimulatedKind::kForward); return end_step(rank);
  }
  ++own.milestone;
  go_on(rank);
}

void Engine::submit(Rank rank, std::uint32_t gradient) {
  if (late_) {
    late_->submit(rank);
    return begin_late(rank);
  }
  RankState& own = state(rank);
  if (steps_ && ++own.submitted == gradients_) steps_->contribute(rank);
  begin_run(rank, gradient, own.step);
}

/// Returns true if the step under way needs a result that is not there.
bool Engine::is_missing(Rank rank, std::uint32_t gradient) const {
  const int step = ranks_[static_cast<std::size_t>(rank)].step;
  return late_ ? !late_->may_end(rank, step) : runs_[run_of(rank, gradient, step)].active;
}

void Engine::begin_run(Rank rank, std::uint32_t gradient, int step) {
  const std::uint32_t run = run_of(rank, gradient, step);
  RunState& own = runs_[run];
  own.step = step;
  own.active = true;
  own.ready_at = now_;
  const auto [begin, end] = flat_.of(static_cast<std::uint32_t>(rank), run % slots_);
  own.tasks_left = end - begin;
  for (std::uint32_t task = begin; task < end; ++task) waits_for_[task] = tasks_[task].waits_for;
  if (own.tasks_left == 0) return finish_run(run);
  // A task's own end may make others ready: those are not to be started twice.
  for (std::uint32_t task = begin; task < end; ++task) {
    if (tasks_[task].waits_for == 0) make_ready(task);
  }
  for (const auto& [recv, its_step] : own.early) {
    if (its_step != own.step || --waits_for_[recv] > 0) continue;
    keep_span(recv, since_[recv]);
    make_ready(recv);
  }
  std::erase_if(own.early, [&](const auto& message) { return message.second == own.step; });
  if (drift_.owners != nullptr) contribute_own(rank, gradient, step);
  if (done_.empty()) return;
  const std::uint32_t last = done_.back();
  done_.pop_back();
  complete(last);
}

void Engine::end_step(Rank rank) {
  RankState& own = state(rank);
  const double alone = (scenario_.training.backward_s + scenario_.training.forward_s) * own.factor;
  own.sums.training_s += alone;
  own.sums.exposed_s += now_ - own.step_began - alone;
  ended_ = std::max(ended_, now_);
  ++own.step;
  if (steps_) {
    if (late_ || gradients_ == 0) steps_->contribute(rank);
    steps_->end_step(rank, now_);
  }
  if (steps_ ? steps_->goes_on(rank) : own.step < options_.steps) return begin_step(rank);
  ++ranks_done_;
  if (drift_.owners != nullptr) end_rank(rank);
}

}  // namespace casync
