// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/session_record.h"

#include <algorithm>

#include "base/log.h"

namespace casync::runtime {
namespace {

/// The step from which on every gradient has the codec of its plan: the longest warm-up.
std::uint32_t warm_up_of(const Plan& plan) {
  std::uint32_t steps = std::max(plan.mode.from_step, plan.defaults.warm_up_steps.value_or(0));
  for (const Rule& rule : plan.rules) steps = std::max(steps, rule.choice.warm_up_steps.value_or(0));
  for (const Entry& entry : plan.gradients) steps = std::max(steps, entry.choice.warm_up_steps.value_or(0));
  for (const GradientGroup& group : plan.groups) steps = std::max(steps, group.choice.warm_up_steps.value_or(0));
  return steps;
}

}  // namespace

void SessionRecord::open() {
  const Plan& plan = parts_.plan;
  const std::string& directory = parts_.options.record_directory;
  const RecordedRanks ranks{parts_.launch.ranks, parts_.ranks_per_processor};
  if (parts_.launch.rank != 0) {
    if (records()) run_ = record_of_pace(ranks, plan.mode, *parts_.device);
    return;
  }
  if (!directory.empty() && plan.mode != SyncMode{}) {
    log().warn(
        "no model is recorded in {}, only samples of gradients: with local_sgd, gossip, staleness or asynchronous "
        "gradients are exchanged at other times than they are ready; record a run whose plan has none of these",
        directory);
  }
  if (records() || plan.predicted) {
    run_ = std::make_unique<RunRecord>(records() ? directory : "", ranks, plan.mode, plan.predicted.has_value(),
                                       *parts_.device);
  }
  if (plan.predicted) watch_.emplace(*plan.predicted, warm_up_of(plan), std::max(1u, plan.mode.every));
}

void SessionRecord::submitted(std::span<const Submission> submissions) {
  if (!run_) return;
  run_->submitted(submissions);
  if (!parts_.device->is_host() || !run_->samples(tables_.step.exchanged())) return;
  for (Submission one : submissions) static_cast<void>(run_->sample(one, tables_.step.number()));
}

Status SessionRecord::sample_on_device(std::span<const Submission> submissions, ReadyEvents& ready) {
  if (!run_ || !run_->samples(tables_.step.exchanged())) return Status::ok();
  for (const Submission& one : submissions) {
    Submission sampled = one;
    CASYNC_RETURN_IF_ERROR(run_->sample(sampled, tables_.step.number()));
    if (sampled.stream != one.stream) CASYNC_RETURN_IF_ERROR(ready.note(one.gradient, sampled.stream));
  }
  return Status::ok();
}

void SessionRecord::step_ended(Clock::time_point now) {
  if (run_) run_->step_ended();
  if (watch_) watch(Seconds(now - tables_.step.begun()).count());
}

void SessionRecord::tell_pace() const {
  if (records() && run_) parts_.paces->set_own(run_->pace());
}

void SessionRecord::watch(double step_s) {
  const ExecutorCounters& counters = parts_.executor->counters();
  const Spent spent{counters.seconds_of(SpanKind::kEncode), counters.seconds_of(SpanKind::kMerge),
                    counters.seconds_of(SpanKind::kDecode)};
  const double training_s = run_->program_seconds_of_last_step();
  const auto sentence = watch_->step_ended(tables_.step.number(), step_s, training_s, spent);
  if (sentence) log().warn("{}", *sentence);
  if (!watch_->over()) return;
  watch_.reset();
  run_->end_watch();
}

}  // namespace casync::runtime
