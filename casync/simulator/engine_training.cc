// SPDX-License-Identifier: Apache-2.0
//
// The training that synchronization runs with: it makes gradients, and stops where one is missing.
#include <algorithm>
#include <tuple>

#include "casync/simulator/engine.h"

namespace casync {
namespace {

/// A number from 0 to below 1, the same for the same words on every machine (SplitMix64's finalizer, over both).
double drawn(std::uint64_t seed, std::uint64_t rank, std::uint64_t step) {
  std::uint64_t x = seed;
  for (const std::uint64_t word : {rank, step}) {
    x += 0x9e3779b97f4a7c15u * (word + 1);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    x ^= x >> 31;
  }
  return static_cast<double>(x >> 11) * 0x1p-53;
}

}  // namespace

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
  return slowness * (1 + options_.jitter * drawn(options_.seed, r, static_cast<std::uint64_t>(step)));
}

void Engine::begin_step(Rank rank) {
  RankState& own = state(rank);
  own.milestone = 0;
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
    case Milestone::Kind::kReady: begin_run(rank, here.gradient); break;
    case Milestone::Kind::kBackwardEnd: pass_ends(SimulatedKind::kBackward); break;
    case Milestone::Kind::kNeed:
      if (runs_[static_cast<std::size_t>(rank) * gradients_ + here.gradient].active) {
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

void Engine::begin_run(Rank rank, std::uint32_t gradient) {
  const auto run = static_cast<std::uint32_t>(rank) * gradients_ + gradient;
  RunState& own = runs_[run];
  own.step = state(rank).step;
  own.active = true;
  own.ready_at = now_;
  const auto [begin, end] = flat_.of(static_cast<std::uint32_t>(rank), gradient);
  own.tasks_left = end - begin;
  for (std::uint32_t task = begin; task < end; ++task) waits_for_[task] = tasks_[task].waits_for;
  if (own.tasks_left == 0) return finish_run(run);
  // A task's own end may make others ready: those are not to be started twice.
  for (std::uint32_t task = begin; task < end; ++task) {
    if (tasks_[task].waits_for == 0) make_ready(task);
  }
  for (const auto& [recv, step] : own.early) {
    if (step != own.step || --waits_for_[recv] > 0) continue;
    keep_span(recv, since_[recv]);
    make_ready(recv);
  }
  std::erase_if(own.early, [&](const auto& message) { return message.second == own.step; });
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
  if (++own.step < options_.steps) return begin_step(rank);
  ++ranks_done_;
}

}  // namespace casync
