// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/late_gradients.h"

#include <algorithm>
#include <utility>

#include "runtime/session/handles.h"

namespace casync::runtime {

Status LateGradients::open() {
  if (device_.is_host()) return Status::ok();
  for (std::unique_ptr<Stream>* each : {&streams_.copies, &streams_.idle}) {
    Result<std::unique_ptr<Stream>> stream = device_.make_stream(false);
    if (!stream) return stream.status();
    *each = std::move(*stream);
  }
  return Status::ok();
}

Result<LateGradient*> LateGradients::add(GradientId id, const GradientSpec& gradient) {
  Result<std::unique_ptr<LateMemory>> memory = make_late_memory(device_, streams_, staleness_, gradient.bytes());
  if (!memory) return memory.status();
  if (index(id) >= gradients_.size()) gradients_.resize(index(id) + 1);
  gradients_[index(id)] = std::make_unique<LateGradient>(gradient, std::move(*memory), staleness_);
  return gradients_[index(id)].get();
}

Result<LateGradient*> LateGradients::of(Handle handle) {
  const GradientId id{index_of(handle)};
  if (has(id) && at(id).knows(step_of(handle))) return &at(id);
  return unknown(handle);
}

const LateGradient* LateGradients::find(const std::string& name) const {
  const auto found = std::find_if(gradients_.begin(), gradients_.end(),
                                  [&](const auto& gradient) { return gradient && gradient->spec().name == name; });
  return found == gradients_.end() ? nullptr : found->get();
}

Status LateGradients::check(std::span<const Submission> submissions, std::uint32_t step) {
  ++calls_;
  for (const Submission& one : submissions) {
    if (!has(one.gradient)) return invalid_argument("no gradient has the id " + std::to_string(index(one.gradient)));
    CASYNC_RETURN_IF_ERROR(at(one.gradient).check(device_, one, step, calls_));
  }
  return Status::ok();
}

std::size_t LateGradients::under_way(std::uint32_t step) const {
  return static_cast<std::size_t>(std::count_if(
      gradients_.begin(), gradients_.end(), [&](const auto& gradient) { return gradient && gradient->in_step(step); }));
}

Result<bool> LateGradients::hand_over_all() {
  CASYNC_RETURN_IF_ERROR(for_each([](GradientId, LateGradient& gradient) { return gradient.hand_over(); }));
  for (const std::unique_ptr<LateGradient>& gradient : gradients_) {
    if (!gradient) continue;
    const Result<bool> there = gradient->is_exchanged();
    if (!there || !*there) return there;
  }
  return true;
}

void LateGradients::gather(std::uint32_t step, std::vector<Submission>* submissions) {
  submissions->clear();
  for (std::size_t i = 0; i < gradients_.size(); ++i) {
    if (!gradients_[i]) continue;
    const auto one = gradients_[i]->to_reduce(GradientId(static_cast<std::uint32_t>(i)), step);
    if (one) submissions->push_back(*one);
  }
}

Status LateGradients::save(SessionState& state) const {
  for (const std::unique_ptr<LateGradient>& gradient : gradients_) {
    if (gradient) CASYNC_RETURN_IF_ERROR(gradient->save(state));
  }
  return Status::ok();
}

Status LateGradients::forget() {
  calls_ = 0;
  return for_each([](GradientId, LateGradient& gradient) { return gradient.forget(); });
}

void LateGradients::leave_to_threads() {
  for (std::unique_ptr<LateGradient>& gradient : gradients_) static_cast<void>(gradient.release());
  static_cast<void>(streams_.copies.release());
  static_cast<void>(streams_.idle.release());
}

}  // namespace casync::runtime
