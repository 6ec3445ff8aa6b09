// SPDX-License-Identifier: Apache-2.0
//
// The state of a session whose results come late: the wrapped session's, and the results on their way.
#include <algorithm>

#include "compll/ops/cpu/convert.h"
#include "runtime/session/delayed_session.h"
#include "runtime/session/late_states.h"

namespace casync::runtime {
namespace {

void note_not_finite(const std::string& gradient, StepResult& result) {
  if (result.finite || gradient < result.first_non_finite) result.first_non_finite = gradient;
  result.finite = false;
}

}  // namespace

Result<SessionState> DelayedSession::state() const {
  if (forked()) return session_->state();
  CASYNC_RETURN_IF_ERROR(settle());
  std::lock_guard lock(mutex_);
  if (under_way() > 0) return invalid_argument("a step is under way: end it, then take the state");
  Result<SessionState> state = session_->state();
  if (!state) return state;
  for (const Gradient& gradient : gradients_) {
    for (std::uint32_t place = 0; place < staleness_; ++place) {
      std::vector<std::byte> result;
      CASYNC_RETURN_IF_ERROR(gradient.memory->read(gradient.next_slot(place), &result));
      state->gradients.emplace(late_name(gradient.spec.name, staleness_, place),
                               late_state(result, gradient.spec, staleness_));
    }
  }
  state->gradients.insert(waiting_.begin(), waiting_.end());
  return state;
}

Status DelayedSession::load_state(const SessionState& state) {
  if (forked()) return session_->load_state(state);
  std::lock_guard one_at_a_time(step_mutex_);
  CASYNC_RETURN_IF_ERROR(settle());
  std::lock_guard lock(mutex_);
  if (under_way() > 0) return invalid_argument("a step is under way: end it, then load a state");
  CASYNC_RETURN_IF_ERROR(check_late(state));
  SessionState others = state;
  std::erase_if(others.gradients, [](const auto& one) { return gradient_of_late(one.first, one.second).has_value(); });
  CASYNC_RETURN_IF_ERROR(session_->load_state(others));
  return adopt(state);
}

Status DelayedSession::check_late(const SessionState& state) const {
  for (const auto& [name, one] : state.gradients) {
    const auto of = gradient_of_late(name, one);
    if (of && one.codec != late_label(staleness_)) {
      return invalid_argument("gradient " + *of + ": the state has results that come " + one.codec +
                              ", by the plan here they come " + late_label(staleness_));
    }
    const auto gradient = std::find_if(gradients_.begin(), gradients_.end(),
                                       [&](const Gradient& each) { return of && each.spec.name == *of; });
    if (gradient != gradients_.end()) CASYNC_RETURN_IF_ERROR(check_size(gradient->spec, one));
  }
  return Status::ok();
}

/// Gives a gradient that is new, or whose slots are free, the results that were loaded for it.
Status DelayedSession::take_late(Gradient& gradient) {
  for (std::uint32_t place = 0; place < staleness_; ++place) {
    const auto late = waiting_.find(late_name(gradient.spec.name, staleness_, place));
    if (late == waiting_.end()) continue;
    const std::vector<float>& values = late->second.residual;
    CASYNC_RETURN_IF_ERROR(check_size(gradient.spec, late->second));
    if (!is_finite(late->second)) note_not_finite(gradient.spec.name, results_[(step_ + place) % staleness_]);
    std::vector<std::byte> result(gradient.spec.bytes());
    compll::from_float32(values.data(), values.size(), gradient.spec.dtype, result.data());
    CASYNC_RETURN_IF_ERROR(gradient.memory->write(place, result));
    waiting_.erase(late);
  }
  return Status::ok();
}

Status DelayedSession::adopt(const SessionState& state) {
  waiting_.clear();
  for (const auto& [name, one] : state.gradients) {
    if (gradient_of_late(name, one)) waiting_.emplace(name, one);
  }
  submit_calls_ = 0;
  step_ = begun_ = reduced_ = state.step;
  std::fill(results_.begin(), results_.end(), StepResult{});
  for (Gradient& gradient : gradients_) {
    gradient.submissions = 0;
    gradient.steps = 0;
    gradient.call = 0;
    gradient.handed_over = true;
    for (std::size_t at = 0; at < gradient.slots.size(); ++at) {
      gradient.slots[at] = {};
      CASYNC_RETURN_IF_ERROR(gradient.memory->write(at, std::vector<std::byte>(gradient.spec.bytes())));
    }
    CASYNC_RETURN_IF_ERROR(take_late(gradient));  // check_late() has looked at the sizes
  }
  return Status::ok();
}

}  // namespace casync::runtime
