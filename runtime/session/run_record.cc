// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/run_record.h"

#include <utility>

#include "runtime/session/record_files.h"

namespace casync::runtime {

RunRecord::RunRecord(std::string directory, const RecordedRanks& ranks, const SyncMode& mode, bool is_watched,
                     Device& device)
    : directory_(std::move(directory)), ranks_(ranks.count), mode_(mode) {
  if (has_model() || is_watched) moments_ = make_step_moments(device, ranks.of_each_processor);
  if (directory_.empty()) return;
  sampler_.emplace();
  if (!device.is_host()) device_sampler_.emplace(device, *sampler_);
}

Status RunRecord::declared(const GradientSpec& gradient) {
  if (device_sampler_) CASYNC_RETURN_IF_ERROR(device_sampler_->declare(gradient));
  gradients_.push_back(gradient);
  return Status::ok();
}

void RunRecord::submitted(std::span<const Submission> submissions) {
  if (moments_) moments_->submitted(submissions);
}

bool RunRecord::samples(Exchanged exchanged) const {
  return sampler_ && exchanged == (mode_.is_local() ? Exchanged::kDifferences : Exchanged::kGradients);
}

Status RunRecord::sample(Submission& submission, std::uint32_t step) {
  const auto gradient = static_cast<std::size_t>(submission.gradient);
  if (!device_sampler_) {
    sampler_->submitted(gradient, gradients_[gradient], submission.data, step);
    return Status::ok();
  }
  const Result<void*> stream = device_sampler_->submitted(gradient, submission, step);
  if (stream) submission.stream = *stream;
  return stream.status();
}

void RunRecord::needs(std::size_t gradient) {
  if (moments_) moments_->needs(gradient);
}

bool RunRecord::waits(std::size_t gradient) {
  if (moments_) moments_->waits(gradient);
  return moments_ != nullptr;
}

void RunRecord::stands_still() {
  if (moments_) moments_->stands_still();
}

void RunRecord::goes_on() {
  if (moments_) moments_->goes_on();
}

void RunRecord::computed() {
  if (moments_) moments_->computed();
}

void RunRecord::step_ended() {
  if (moments_) moments_->step_ended();
  if (device_sampler_) device_sampler_->take_over();
}

void RunRecord::end_watch() {
  if (!has_model()) moments_.reset();
}

std::optional<Pace> RunRecord::pace() const { return moments_ ? moments_->recorder().pace() : std::nullopt; }

void RunRecord::write(const std::map<Rank, std::optional<Pace>>& others) {
  const Recorder* const recorder = has_model() ? &moments_->recorder() : nullptr;
  if (recorder != nullptr) write_model(directory_, ranks_, *recorder, gradients_, others);
  if (device_sampler_) device_sampler_->take_over();
  if (sampler_) write_samples(directory_, recorder, gradients_, *sampler_);
}

std::unique_ptr<RunRecord> record_of_pace(const RecordedRanks& ranks, const SyncMode& mode, Device& device) {
  return mode == SyncMode{} ? std::make_unique<RunRecord>("", ranks, mode, true, device) : nullptr;
}

}  // namespace casync::runtime
