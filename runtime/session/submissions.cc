// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/submissions.h"

#include <algorithm>
#include <string>

#include "runtime/session/session_device.h"
#include "runtime/session/session_nccl.h"

namespace casync::runtime {

void Submissions::add(const GradientSpec& gradient) {
  submitted_.emplace_back();
  memory_of_.push_back({gradient.bytes(), bytes_of(gradient.dtype)});
}

/// Checks all in one pass: a gradient that this call has named carries the call's number.
Status Submissions::check(std::span<const Submission> submissions) {
  if (!submissions.empty()) CASYNC_RETURN_IF_ERROR(step_.check_exchange());
  ++calls_;
  for (const Submission& one : submissions) {
    CASYNC_RETURN_IF_ERROR(check(one));
    const std::size_t index = static_cast<std::size_t>(one.gradient);
    if (submitted_[index].call == calls_) {
      return invalid_argument("gradient " + gradients_.spec(index).name + " is twice in one submission");
    }
    submitted_[index].call = calls_;
  }
  return Status::ok();
}

Status Submissions::check(const Submission& one) const {
  const std::size_t index = static_cast<std::size_t>(one.gradient);
  if (index >= gradients_.size()) return invalid_argument("no gradient has the id " + std::to_string(index));
  const GradientSpec& spec = gradients_.spec(index);
  const bool fits = device_.is_host() && one.device_data.is_null() && memory_of_[index].fits(one.data);
  if (!fits) CASYNC_RETURN_IF_ERROR(check_memory(device_, spec, one));
  return in_step(index) ? submitted_twice(spec, step_.number()) : Status::ok();
}

Status Submissions::check_none() const {
  for (std::size_t i = 0; i < submitted_.size(); ++i) {
    if (!in_step(i)) continue;
    return invalid_argument("gradient " + gradients_.spec(i).name + " was submitted in step " +
                            std::to_string(step_.number()) + " ahead of the consensus: end the step first");
  }
  return Status::ok();
}

Status Submissions::check_all() const {
  if (step_.exchanged() == Exchanged::kNothing) return Status::ok();
  for (std::size_t i = 0; i < submitted_.size(); ++i) {
    if (!in_step(i)) return not_submitted(gradients_.spec(i), step_.number());
  }
  return Status::ok();
}

Clock::time_point Submissions::waited_since(std::size_t gradient, std::uint32_t step, Clock::time_point now) {
  if (submitted_[gradient].steps != step + 1) return now;
  Clock::time_point& since = submitted_[gradient].waited_since;
  if (since == Clock::time_point{}) since = now;
  return since;
}

void Submissions::forget() {
  std::fill(submitted_.begin(), submitted_.end(), Submitted{});
  calls_ = 0;
}

}  // namespace casync::runtime
