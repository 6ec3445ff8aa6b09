// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/delayed_session.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "compll/ops/cpu/convert.h"
#include "runtime/session/declarations.h"
#include "runtime/session/handles.h"

namespace casync::runtime {
namespace {

constexpr const char* kLate = " (late)";
constexpr const char* kLateState = "one step late";  // the codec of such a state

void swap_bytes(std::byte* a, std::byte* b, std::size_t size) {
  std::array<std::byte, 8192> block;
  for (std::size_t at = 0; at < size; at += block.size()) {
    const std::size_t count = std::min(block.size(), size - at);
    std::memcpy(block.data(), a + at, count);
    std::memcpy(a + at, b + at, count);
    std::memcpy(b + at, block.data(), count);
  }
}

std::vector<float> floats_of(const std::vector<std::byte>& memory, const GradientSpec& spec) {
  std::vector<float> values(spec.elements());
  compll::to_float32(spec.dtype, memory.data(), values.size(), values.data());
  return values;
}

/// The gradient that a state's entry has the late result of; nothing: it is of another kind.
std::optional<std::string> late_name(const std::string& name, const GradientState& state) {
  if (state.codec != kLateState || !name.ends_with(kLate)) return std::nullopt;
  return name.substr(0, name.size() - std::strlen(kLate));
}

Status check_size(const GradientSpec& gradient, const GradientState& late) {
  if (late.residual.size() == gradient.elements()) return Status::ok();
  return invalid_argument("gradient " + gradient.name + ": a late result of " + std::to_string(late.residual.size()) +
                          " elements, it has " + std::to_string(gradient.elements()));
}

}  // namespace

DelayedSession::~DelayedSession() {
  if (!forked()) static_cast<void>(close());
}

Result<GradientId> DelayedSession::declare(const GradientSpec& gradient) {
  Result<GradientId> id = session_->declare(gradient);
  if (!id) return id;
  std::lock_guard lock(mutex_);
  const auto index = static_cast<std::size_t>(*id);
  if (index < gradients_.size()) return id;
  gradients_.resize(index + 1);
  Gradient& own = gradients_[index];
  own.spec = gradient;
  own.memory.resize(gradient.bytes());
  const auto waiting = waiting_.find(gradient.name);
  if (waiting == waiting_.end()) return id;
  CASYNC_RETURN_IF_ERROR(check_size(gradient, waiting->second));
  compll::from_float32(waiting->second.residual.data(), gradient.elements(), gradient.dtype, own.memory.data());
  waiting_.erase(waiting);
  return id;
}

Status DelayedSession::check(std::span<const Submission> submissions) {
  ++submit_calls_;
  for (const Submission& one : submissions) {
    const auto index = static_cast<std::size_t>(one.gradient);
    if (index >= gradients_.size()) return invalid_argument("no gradient has the id " + std::to_string(index));
    Gradient& gradient = gradients_[index];
    CASYNC_RETURN_IF_ERROR(check_memory(gradient.spec, one.data));
    if (gradient.steps == step_ + 1) return submitted_twice(gradient.spec, step_);
    if (gradient.call == submit_calls_) {
      return invalid_argument("gradient " + gradient.spec.name + " is twice in one submission");
    }
    gradient.call = submit_calls_;
  }
  return Status::ok();
}

Status DelayedSession::submit(std::span<const Submission> submissions, std::span<Handle> handles) {
  CASYNC_RETURN_IF_ERROR(tell(session_->submit({}, {})));  // usable, and the ranks have compared what is new
  if (handles.size() < submissions.size()) {
    return invalid_argument("room for " + std::to_string(handles.size()) + " handles, expected " +
                            std::to_string(submissions.size()));
  }
  std::lock_guard lock(mutex_);
  CASYNC_RETURN_IF_ERROR(check(submissions));
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    Gradient& gradient = gradients_[static_cast<std::size_t>(submissions[i].gradient)];
    gradient.destination = submissions[i].data;
    gradient.steps = step_ + 1;
    gradient.handed_over = false;
    if (!gradient.reduction) hand_over(gradient);
    handles[i] = handle_of(step_, submissions[i].gradient);
  }
  return Status::ok();
}

bool DelayedSession::Gradient::has_result(Handle handle) const { return handed_over || steps > step_of(handle) + 1; }

Result<DelayedSession::Gradient*> DelayedSession::gradient_of(Handle handle) const {
  const std::uint32_t index = index_of(handle);
  if (index < gradients_.size() && gradients_[index].steps > step_of(handle)) return &gradients_[index];
  return invalid_argument("a handle that no submission gave");
}

/// The result into the program's memory, and its new gradient out of it.
void DelayedSession::hand_over(Gradient& gradient) const {
  if (gradient.handed_over) return;
  swap_bytes(gradient.memory.data(), gradient.destination.data, gradient.memory.size());
  gradient.handed_over = true;
}

Status DelayedSession::wait(Handle handle, double timeout_s, Waiter waiter) {
  if (forked()) return session_->wait(handle, timeout_s, waiter);
  std::optional<Handle> reduction;
  {
    std::lock_guard lock(mutex_);
    const Result<Gradient*> gradient = gradient_of(handle);
    if (!gradient) return gradient.status();
    if (!(*gradient)->has_result(handle)) reduction = (*gradient)->reduction;
  }
  if (!reduction) return Status::ok();
  if (Status status = session_->wait(*reduction, timeout_s, waiter); !status) {
    return status.code() == StatusCode::kTimeout ? status : tell(status);  // a wait may be tried again
  }
  std::lock_guard lock(mutex_);
  // Or step() has, meanwhile, and what is there now is the next step's.
  Gradient& gradient = gradients_[index_of(handle)];
  if (!gradient.has_result(handle)) hand_over(gradient);
  return Status::ok();
}

bool DelayedSession::done(Handle handle) const {
  if (forked()) return false;
  std::lock_guard lock(mutex_);
  const Result<Gradient*> gradient = gradient_of(handle);
  if (!gradient) return false;
  Gradient& own = **gradient;
  if (!own.has_result(handle) && session_->done(*own.reduction)) hand_over(own);
  return own.has_result(handle);
}

Status DelayedSession::wait_any(std::span<const Handle> handles, const std::atomic<bool>& interrupted,
                                std::vector<Handle>* done) {
  done->clear();
  if (forked()) return session_->wait_any(handles, interrupted, done);
  thread_local std::vector<Handle> reductions, reduced;  // keep their memory: this runs in every step
  reductions.clear();
  {
    std::lock_guard lock(mutex_);
    for (const Handle handle : handles) {
      const Result<Gradient*> gradient = gradient_of(handle);
      if (!gradient) return gradient.status();
      if ((*gradient)->has_result(handle)) {
        done->push_back(handle);
      } else {
        reductions.push_back(*(*gradient)->reduction);
      }
    }
  }
  if (!done->empty()) return Status::ok();
  const Status status = session_->wait_any(reductions, interrupted, &reduced);
  std::lock_guard lock(mutex_);
  for (std::size_t i = 0, next = 0; i < handles.size() && next < reduced.size(); ++i) {
    if (reductions[i] != reduced[next]) continue;
    ++next;
    // step() may have handed it over meanwhile, and the memory is the next step's.
    Gradient& gradient = gradients_[index_of(handles[i])];
    if (!gradient.has_result(handles[i])) hand_over(gradient);
    done->push_back(handles[i]);
  }
  return tell(status);
}

Status DelayedSession::note_exposed(Handle handle, double seconds) {
  if (forked()) return session_->note_exposed(handle, seconds);
  std::optional<Handle> reduction;
  {
    std::lock_guard lock(mutex_);
    const Result<Gradient*> gradient = gradient_of(handle);
    if (!gradient) return gradient.status();
    reduction = (*gradient)->reduction;
  }
  return reduction ? session_->note_exposed(*reduction, seconds) : Status::ok();
}

/// Keeps that the program knows of a failure.
Status DelayedSession::tell(Status status) const {
  if (!status) told_ = true;
  return status;
}

Status DelayedSession::settle() const {
  if (!begun_ || settled_) return Status::ok();
  Result<StepResult> result = session_->step();
  if (!result) return tell(result.status());
  settled_ = std::move(*result);
  return Status::ok();
}

Result<StepResult> DelayedSession::step() {
  if (forked()) return session_->step();
  std::lock_guard one_at_a_time(step_mutex_);
  CASYNC_RETURN_IF_ERROR(settle());
  std::lock_guard lock(mutex_);
  StepResult result = settled_.value_or(StepResult{});
  result.step = step_;
  for (Gradient& gradient : gradients_) hand_over(gradient);
  CASYNC_RETURN_IF_ERROR(begin_reductions());
  settled_.reset();
  ++step_;
  return result;
}

Status DelayedSession::begin_reductions() {
  starts_.clear();
  for (std::size_t i = 0; i < gradients_.size(); ++i) {
    Gradient& gradient = gradients_[i];
    if (gradient.steps != step_ + 1) continue;
    starts_.push_back({GradientId(static_cast<std::uint32_t>(i)), {gradient.memory.data(), gradient.memory.size()}});
  }
  started_.resize(starts_.size());
  CASYNC_RETURN_IF_ERROR(tell(session_->submit(starts_, started_)));
  begun_ = true;
  for (std::size_t i = 0; i < starts_.size(); ++i) {
    gradients_[static_cast<std::size_t>(starts_[i].gradient)].reduction = started_[i];
  }
  return Status::ok();
}

SessionStats DelayedSession::stats() const {
  if (forked()) return {};
  SessionStats stats = session_->stats();
  std::lock_guard lock(mutex_);
  stats.steps = step_;
  return stats;
}

std::ptrdiff_t DelayedSession::under_way() const {
  return std::count_if(gradients_.begin(), gradients_.end(),
                       [&](const Gradient& gradient) { return gradient.steps == step_ + 1; });
}

Result<SessionState> DelayedSession::state() const {
  if (forked()) return session_->state();
  std::lock_guard one_at_a_time(step_mutex_);
  CASYNC_RETURN_IF_ERROR(settle());
  std::lock_guard lock(mutex_);
  if (under_way() > 0) return invalid_argument("a step is under way: end it, then take the state");
  Result<SessionState> state = session_->state();
  if (!state) return state;
  const auto add = [&](const std::string& name, std::vector<float> values) {
    state->gradients.emplace(name + kLate, GradientState{kLateState, std::move(values)});
  };
  for (const Gradient& gradient : gradients_) add(gradient.spec.name, floats_of(gradient.memory, gradient.spec));
  for (const auto& [name, waiting] : waiting_) add(name, waiting.residual);
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
  std::erase_if(others.gradients, [](const auto& one) { return late_name(one.first, one.second).has_value(); });
  CASYNC_RETURN_IF_ERROR(session_->load_state(others));
  adopt(state);
  return Status::ok();
}

Status DelayedSession::check_late(const SessionState& state) const {
  for (const auto& [name, one] : state.gradients) {
    const auto of = late_name(name, one);
    const auto gradient = std::find_if(gradients_.begin(), gradients_.end(),
                                       [&](const Gradient& each) { return of && each.spec.name == *of; });
    if (gradient != gradients_.end()) CASYNC_RETURN_IF_ERROR(check_size(gradient->spec, one));
  }
  return Status::ok();
}

void DelayedSession::adopt(const SessionState& state) {
  waiting_.clear();
  for (const auto& [name, one] : state.gradients) {
    if (const auto of = late_name(name, one)) waiting_.emplace(*of, one);
  }
  for (Gradient& gradient : gradients_) {
    gradient.reduction.reset();
    gradient.steps = 0;
    gradient.call = 0;
    gradient.handed_over = true;
    std::fill(gradient.memory.begin(), gradient.memory.end(), std::byte{0});
    const auto late = waiting_.find(gradient.spec.name);
    if (late == waiting_.end()) continue;
    compll::from_float32(late->second.residual.data(), gradient.spec.elements(), gradient.spec.dtype,
                         gradient.memory.data());
    waiting_.erase(late);
  }
  submit_calls_ = 0;
  step_ = state.step;
  begun_ = false;
  settled_.reset();
}

void DelayedSession::abort(const std::string& reason) {
  told_ = true;
  session_->abort(reason);
}

Status DelayedSession::close() {
  if (forked()) return session_->close();
  {
    std::lock_guard lock(mutex_);
    if (closed_) return Status::ok();
    closed_ = true;
  }
  std::lock_guard one_at_a_time(step_mutex_);
  Status ended = told_ ? Status::ok() : settle();  // the others wait for this rank's part
  Status closed = session_->close();
  std::lock_guard lock(mutex_);
  if (!ended) return ended;
  if (told_ || under_way() == 0) return closed;
  return aborted("the session was closed while " + std::to_string(under_way()) + " gradients were under way");
}

}  // namespace casync::runtime
