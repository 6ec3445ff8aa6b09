// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/one_rank/training_pass.h"

#include <algorithm>
#include <tuple>

#include "casync/simulator/one_rank.h"

namespace casync::one_rank {

TrainingPass::TrainingPass(OneRank& rank, const Training& training) : rank_(rank) {
  for (std::uint32_t g = 0; g < training.gradients.size(); ++g) {
    milestones_.push_back({training.gradients[g].ready_s, Kind::kReady, g});
    milestones_.push_back({training.backward_s + training.gradients[g].need_s, Kind::kNeed, g});
  }
  milestones_.push_back({training.backward_s, Kind::kBackwardEnd, 0});
  milestones_.push_back({training.backward_s + training.forward_s, Kind::kStepEnd, 0});
  std::stable_sort(milestones_.begin(), milestones_.end(), [](const Milestone& a, const Milestone& b) {
    return std::tie(a.position, a.kind) < std::tie(b.position, b.kind);
  });
}

void TrainingPass::reset() {
  work_ = Work(Event::Kind::kTraining);
  milestone_ = 0;
  blocked_ = false;
  active_.assign((milestones_.size() - 2) / 2, 0);
}

double TrainingPass::rate() const {
  return rank_.codec.is_running() || rank_.messages.is_running() ? 1 / rank_.profile.contention.training : 1;
}

void TrainingPass::adjust() { work_.change_rate(rank_.clock, rate()); }

void TrainingPass::go_on() {
  const double from = milestone_ == 0 ? 0 : milestones_[milestone_ - 1].position;
  work_.start(rank_.clock, milestones_[milestone_].position - from, rate());
}

void TrainingPass::pass(const Event& event) {
  if (!work_.ends_with(event)) return;
  const Milestone& here = milestones_[milestone_];
  work_.stop();
  if (here.kind == Kind::kReady) {
    active_[here.gradient] = 1;
    rank_.record.begin(here.gradient, rank_.clock.now());
    rank_.stages.begin(here.gradient);
  }
  if (here.kind == Kind::kNeed && active_[here.gradient] != 0) {
    blocked_ = true;
    blocked_since_ = rank_.clock.now();
    return;
  }
  if (here.kind == Kind::kStepEnd) {
    rank_.record.end_step(rank_.clock.now());
    return;
  }
  ++milestone_;
  go_on();
}

void TrainingPass::finish(std::uint32_t gradient) {
  const double now = rank_.clock.now();
  active_[gradient] = 0;
  rank_.record.finish(gradient, now);
  if (!blocked_ || milestones_[milestone_].gradient != gradient) return;
  blocked_ = false;
  rank_.record.wait(gradient, now - blocked_since_);
  work_.start(rank_.clock, 0, 1);
}

}  // namespace casync::one_rank
