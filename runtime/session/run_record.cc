// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/run_record.h"

#include <utility>

#include "runtime/session/record_files.h"

namespace casync::runtime {

RunRecord::RunRecord(std::string directory, int ranks, const SyncMode& mode)
    : directory_(std::move(directory)), ranks_(ranks), mode_(mode) {
  if (mode_ == SyncMode{}) recorder_.emplace(clock_.now());
}

void RunRecord::submitted(std::span<const Submission> submissions, std::uint32_t step) {
  const Exchanged sampled = mode_.is_local() ? Exchanged::kDifferences : Exchanged::kGradients;
  const Clock::time_point now = clock_.now();
  if (recorder_) recorder_->stands_still(now);
  for (const Submission& one : submissions) {
    const auto gradient = static_cast<std::size_t>(one.gradient);
    if (recorder_) recorder_->submitted(gradient, now);
    if (exchanged_in(mode_, step) == sampled) sampler_.submitted(gradient, gradients_[gradient], one.data, step);
  }
}

void RunRecord::needs(std::size_t gradient) {
  if (recorder_) recorder_->needs(gradient, clock_.now());
}

void RunRecord::waits(std::size_t gradient) {
  if (recorder_) recorder_->waits(gradient, clock_.now());
}

void RunRecord::goes_on() {
  if (recorder_) recorder_->goes_on(clock_.now());
}

void RunRecord::computed() {
  if (recorder_) recorder_->computed(clock_.now());
}

void RunRecord::step_ended() {
  if (recorder_) recorder_->step_ended(clock_.now());
}

void RunRecord::write() {
  const Recorder* const recorder = recorder_ ? &*recorder_ : nullptr;
  if (recorder != nullptr) write_model(directory_, ranks_, *recorder, gradients_);
  write_samples(directory_, recorder, gradients_, sampler_);
}

}  // namespace casync::runtime
