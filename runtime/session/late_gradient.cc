// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/late_gradient.h"

#include <algorithm>

#include "compll/ops/cpu/convert.h"
#include "runtime/session/declarations.h"
#include "runtime/session/late_states.h"
#include "runtime/session/session_device.h"

namespace casync::runtime {

Status LateGradient::check(const Device& device, const Submission& submission, std::uint32_t step, std::uint64_t call) {
  CASYNC_RETURN_IF_ERROR(check_memory(device, spec_, submission));
  if (in_step(step)) return submitted_twice(spec_, step);
  if (call_ == call) return invalid_argument("gradient " + spec_.name + " is twice in one submission");
  call_ = call;
  return Status::ok();
}

Status LateGradient::take(const Submission& submission, std::uint32_t step) {
  CASYNC_RETURN_IF_ERROR(memory_->take(submission));
  steps_ = step + 1;
  ++submissions_;
  handed_over_ = false;
  return Status::ok();
}

Status LateGradient::hand_over() {
  if (handed_over_) return Status::ok();
  CASYNC_RETURN_IF_ERROR(memory_->exchange(slot_index()));
  slots_[slot_index()] = {steps_, std::nullopt, true};
  handed_over_ = true;
  handed_over_at_ = Clock::now();
  return Status::ok();
}

Result<bool> LateGradient::has_result(std::uint32_t step) const {
  if (steps_ > step + 1) return true;
  return handed_over_ ? memory_->is_exchanged() : false;
}

/// As many as there are slots: none has it.
std::size_t LateGradient::index_of_step(std::uint32_t step) const {
  const auto has_it = [&](const Slot& slot) { return slot.steps == step + 1; };
  return static_cast<std::size_t>(std::find_if(slots_.begin(), slots_.end(), has_it) - slots_.begin());
}

std::optional<Submission> LateGradient::to_reduce(GradientId id, std::uint32_t step) {
  const std::size_t at = index_of_step(step);
  if (at == slots_.size()) return std::nullopt;
  return memory_->submission(id, at);
}

void LateGradient::begin_reducing(std::uint32_t step, Handle reduction) {
  if (const std::size_t at = index_of_step(step); at < slots_.size()) slots_[at].reduction = reduction;
}

Status LateGradient::save(SessionState& state) const {
  const auto staleness = static_cast<std::uint32_t>(slots_.size());
  for (std::uint32_t place = 0; place < staleness; ++place) {
    std::vector<std::byte> result;
    CASYNC_RETURN_IF_ERROR(memory_->read(next_slot(place), &result));
    state.gradients.emplace(late_name(spec_.name, staleness, place), late_state(result, spec_, staleness));
  }
  return Status::ok();
}

Status LateGradient::load(std::uint32_t place, const GradientState& late) {
  std::vector<std::byte> result(spec_.bytes());
  compll::from_float32(late.residual.data(), late.residual.size(), spec_.dtype, result.data());
  slots_[next_slot(place)].is_finite = is_finite(late);
  return memory_->write(next_slot(place), result);
}

Status LateGradient::forget() {
  submissions_ = 0;
  steps_ = 0;
  call_ = 0;
  handed_over_ = true;
  for (std::size_t at = 0; at < slots_.size(); ++at) {
    slots_[at] = {};
    CASYNC_RETURN_IF_ERROR(memory_->write(at, std::vector<std::byte>(spec_.bytes())));
  }
  return Status::ok();
}

}  // namespace casync::runtime
