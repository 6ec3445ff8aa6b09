// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/session_record.h"

#include <algorithm>
#include <vector>

#include "base/log.h"
#include "runtime/session/record_files.h"

namespace casync::runtime {
namespace {

/// The first step in which everything is compressed that the plan wants so.
std::uint32_t warm_up_of(const Plan& plan) {
  std::uint32_t steps = std::max(plan.mode.from_step, plan.defaults.warm_up_steps.value_or(0));
  for (const Rule& rule : plan.rules) steps = std::max(steps, rule.choice.warm_up_steps.value_or(0));
  for (const Entry& entry : plan.gradients) steps = std::max(steps, entry.choice.warm_up_steps.value_or(0));
  for (const GradientGroup& group : plan.groups) steps = std::max(steps, group.choice.warm_up_steps.value_or(0));
  return steps;
}

}  // namespace

SessionRecord::SessionRecord(const SessionParts& parts, const SessionTables& tables) : parts_(parts), tables_(tables) {
  if (parts_.launch.rank != 0) return;
  const Plan& plan = parts_.plan;
  const std::string& directory = parts_.options.record_directory;
  if (!directory.empty() && plan.mode != SyncMode{}) {
    log().warn(
        "no model is recorded in {}, only samples of gradients: with local_sgd, gossip, staleness or asynchronous "
        "gradients are exchanged at other times than they are ready; record a run whose plan has none of these",
        directory);
  }
  if (!directory.empty() && plan.groups.empty()) sampler_.emplace();
  if (sampler_ && !parts_.device->is_host()) {
    device_sampler_ = std::make_unique<DeviceSampler>(*parts_.device, *sampler_);
  }
  if (records() || plan.predicted) moments_ = make_step_moments(*parts_.device);
  if (plan.predicted) watch_.emplace(*plan.predicted, warm_up_of(plan), std::max(1u, plan.mode.every));
}

/// Returns true if this session records a model.
bool SessionRecord::records() const {
  return !parts_.options.record_directory.empty() && parts_.plan.mode == SyncMode{} && parts_.plan.groups.empty();
}

/// Returns true if the step under way exchanges the values that the plan's codecs encode.
bool SessionRecord::samples() const {
  if (!sampler_) return false;
  return tables_.step.exchanged() == (parts_.plan.mode.is_local() ? Exchanged::kDifferences : Exchanged::kGradients);
}

Status SessionRecord::declare(const GradientSpec& gradient) {
  return device_sampler_ ? device_sampler_->declare(gradient) : Status::ok();
}

void SessionRecord::submitted(std::span<const Submission> submissions) {
  if (moments_) moments_->submitted(submissions);
  if (device_sampler_ || !samples()) return;
  for (const Submission& one : submissions) {
    const auto index = static_cast<std::size_t>(one.gradient);
    sampler_->submitted(index, tables_.gradients.spec(index), one.data, tables_.step.number());
  }
}

Status SessionRecord::sample_on_device(std::span<const Submission> submissions, ReadyEvents& ready) {
  if (!samples()) return Status::ok();
  for (const Submission& one : submissions) {
    const auto index = static_cast<std::size_t>(one.gradient);
    const Result<void*> stream = device_sampler_->submitted(index, one, tables_.step.number());
    if (!stream) return stream.status();
    if (*stream != one.stream) CASYNC_RETURN_IF_ERROR(ready.note(one.gradient, *stream));
  }
  return Status::ok();
}

void SessionRecord::needs(std::size_t gradient) {
  if (moments_) moments_->needs(gradient);
}

bool SessionRecord::waits(std::size_t gradient) {
  if (moments_) moments_->waits(gradient);
  return moments_ != nullptr;
}

void SessionRecord::goes_on() {
  if (moments_) moments_->goes_on();
}

void SessionRecord::computed() {
  if (moments_) moments_->computed();
}

void SessionRecord::step_ended(Clock::time_point now) {
  if (moments_) moments_->step_ended();
  if (device_sampler_) device_sampler_->take_over();
  if (watch_) watch(Seconds(now - tables_.step.begun()).count());
}

void SessionRecord::watch(double step_s) {
  const ExecutorCounters& counters = parts_.executor->counters();
  const Spent spent{counters.seconds_of(SpanKind::kEncode), counters.seconds_of(SpanKind::kMerge),
                    counters.seconds_of(SpanKind::kDecode)};
  const double training_s = moments_->recorder().program_seconds_of_last_step();
  const auto sentence = watch_->step_ended(tables_.step.number(), step_s, training_s, spent);
  if (sentence) log().warn("{}", *sentence);
  if (!watch_->over()) return;
  watch_.reset();
  if (!records()) moments_.reset();
}

void SessionRecord::write() {
  const std::vector<GradientSpec> specs = tables_.gradients.specs();
  const Recorder* const recorder = records() && moments_ ? &moments_->recorder() : nullptr;
  if (device_sampler_) device_sampler_->take_over();
  if (recorder != nullptr) write_model(parts_.options.record_directory, parts_.launch.ranks, *recorder, specs);
  if (sampler_) write_samples(parts_.options.record_directory, recorder, specs, *sampler_);
}

void SessionRecord::leave_to_threads() {
  static_cast<void>(moments_.release());
  static_cast<void>(device_sampler_.release());
}

}  // namespace casync::runtime
