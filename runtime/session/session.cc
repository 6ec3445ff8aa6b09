// SPDX-License-Identifier: Apache-2.0
//
// A session's steps: declare, submit, wait, commit, close.
#include "runtime/session/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "runtime/session/agreement.h"
#include "runtime/session/handles.h"
#include "runtime/session/session_impl.h"

namespace casync::runtime {
namespace {

constexpr Seconds kGoodbye{5};  // what close() gives the other ranks

void add_exposed(GradientRun& run, double seconds) { run.exposed_s.store(run.exposed_s.load() + seconds); }

}  // namespace

Result<std::vector<Handle>> Session::submit(std::span<const Submission> submissions) {
  std::vector<Handle> handles(submissions.size());
  CASYNC_RETURN_IF_ERROR(submit(submissions, handles));
  return handles;
}

Result<GradientId> SessionImpl::declare(const GradientSpec& gradient) {
  CASYNC_RETURN_IF_ERROR(usable());
  Result<Declared> declared = declare_gradient(plan_, gradient, topology_);
  if (!declared) return declared.status();
  std::lock_guard lock(mutex_);
  const auto known = ids_.find(gradient.name);
  if (known != ids_.end()) {
    const Declared& before = declared_[static_cast<std::size_t>(known->second)];
    const std::string was = text_of(before.spec, before.decision), is = text_of(declared->spec, declared->decision);
    if (was == is) return known->second;
    return invalid_argument("gradient " + gradient.name + " was declared as " + was + ", and now as " + is);
  }
  for (const Declared& other : declared_) {
    if (other.key == declared->key) {
      return invalid_argument("gradients " + other.spec.name + " and " + gradient.name +
                              " have the same 64-bit hash: rename one");
    }
  }
  const auto id = GradientId(static_cast<std::uint32_t>(declared_.size()));
  ids_.emplace(gradient.name, id);
  declared_.push_back(std::move(*declared));
  submitted_.emplace_back();
  return id;
}

Status SessionImpl::check(const Submission& one) const {
  const std::size_t index = static_cast<std::size_t>(one.gradient);
  if (index >= declared_.size()) return invalid_argument("no gradient has the id " + std::to_string(index));
  const GradientSpec& spec = declared_[index].spec;
  CASYNC_RETURN_IF_ERROR(check_memory(spec, one.data));
  if (submitted_[index].steps == step_ + 1) return submitted_twice(spec, step_);
  return Status::ok();
}

/// In one pass: what this call has named carries its number.
Status SessionImpl::check(std::span<const Submission> submissions) {
  if (!submissions.empty() && exchanged_in(plan_.mode, step_) == Exchanged::kNothing) {
    return invalid_argument(
        "step " + std::to_string(step_) + " exchanges nothing: by the plan's local_sgd ranks go on " +
        "alone, and exchange their parameters' differences once in " + std::to_string(plan_.mode.every) + " steps");
  }
  ++submit_calls_;
  for (const Submission& one : submissions) {
    CASYNC_RETURN_IF_ERROR(check(one));
    const std::size_t index = static_cast<std::size_t>(one.gradient);
    if (submitted_[index].call == submit_calls_) {
      return invalid_argument("gradient " + declared_[index].spec.name + " is twice in one submission");
    }
    submitted_[index].call = submit_calls_;
  }
  return Status::ok();
}

Exchanged SessionImpl::exchanged() const {
  if (forked()) return Exchanged::kNothing;
  std::lock_guard lock(mutex_);
  return exchanged_in(plan_.mode, step_);
}

Status SessionImpl::submit(std::span<const Submission> submissions, std::span<Handle> handles) {
  CASYNC_RETURN_IF_ERROR(usable());
  if (handles.size() < submissions.size()) {
    return invalid_argument("room for " + std::to_string(handles.size()) + " handles, expected " +
                            std::to_string(submissions.size()));
  }
  while (true) {
    if (executor_->failing()) return failure();
    Status gone;
    {
      std::lock_guard lock(mutex_);
      if (closed_) return aborted("the session is closed");
      CASYNC_RETURN_IF_ERROR(check(submissions));
      gone = gone_;
      if (gone.is_ok() && sealed()) {
        start(submissions, handles);
        return Status::ok();
      }
    }
    if (!gone.is_ok()) return end_with(gone);
    if (Status status = seal(); !status) return end_with(status);  // and look again: others submit, too
  }
}

/// Under mutex_, to the end: a peer that breaks either is in gone_ before, or finds these gradients under way.
void SessionImpl::start(std::span<const Submission> submissions, std::span<Handle> handles) {
  const Clock::time_point now = Clock::now();
  if (submissions.empty()) return;
  const Clock::time_point program = recorder_ ? program_now() : now;
  starts_.clear();
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    const std::size_t index = static_cast<std::size_t>(submissions[i].gradient);
    Submitted& last = submitted_[index];
    last.steps = step_ + 1;
    last.since = now;
    last.waited_since = {};
    handles[i] = handle_of(step_, submissions[i].gradient);
    starts_.push_back({runs_[index], step_, submissions[i].data});
    if (recorder_) recorder_->submitted(index, program);
    if (samples()) sampler_->submitted(index, declared_[index].spec, submissions[i].data, step_);
  }
  executor_->submit(starts_);
}

Result<GradientRun*> SessionImpl::run_of(Handle handle) const {
  const std::uint32_t index = index_of(handle);
  if (index < runs_.size() && submitted_[index].steps > step_of(handle)) return runs_[index];
  return invalid_argument("a handle that no submission gave");
}

bool SessionImpl::done(Handle handle) const {
  if (forked()) return false;
  std::lock_guard lock(mutex_);
  const Result<GradientRun*> run = run_of(handle);
  const bool is_done = run && (*run)->completed.load(std::memory_order_acquire) > step_of(handle);
  if (is_done && recorder_) recorder_->needs(index_of(handle), program_now());
  return is_done;
}

Status SessionImpl::note_exposed(Handle handle, double seconds) {
  CASYNC_RETURN_IF_ERROR(usable());
  if (!(seconds >= 0)) return invalid_argument("exposed for " + std::to_string(seconds) + " s, expected 0 or more");
  std::lock_guard lock(mutex_);
  const Result<GradientRun*> run = run_of(handle);
  if (!run) return run.status();
  add_exposed(**run, seconds);
  return Status::ok();
}

Status SessionImpl::wait(Handle handle, double timeout_s, Waiter waiter) {
  CASYNC_RETURN_IF_ERROR(usable());
  const Clock::time_point now = Clock::now();
  GradientRun* run = nullptr;
  Clock::time_point since, last;
  const bool recorded = recorder_ && waiter == Waiter::kProgram;
  {
    std::lock_guard lock(mutex_);
    const Result<GradientRun*> known = run_of(handle);
    if (!known) return known.status();
    run = *known;
    Submitted& submitted = submitted_[index_of(handle)];
    if (submitted.waited_since == Clock::time_point{}) submitted.waited_since = now;
    since = submitted.since;
    last = submitted.waited_since + std::chrono::duration_cast<Clock::duration>(Seconds(options_.timeout_s));
    if (recorded) recorder_->waits(index_of(handle), program_now());
  }
  const bool own = timeout_s >= 0 && timeout_s < options_.timeout_s;
  Status status = wait_for(*run, step_of(handle), own ? std::min(last, after(Seconds(timeout_s))) : last, since);
  if (waiter == Waiter::kProgram) add_exposed(*run, Seconds(Clock::now() - now).count());
  if (recorded) {
    std::lock_guard lock(mutex_);
    recorder_->goes_on(program_now());
  }
  if (status.code() == StatusCode::kTimeout && Clock::now() >= last) return end_late(*run, status);
  return status;
}

Status SessionImpl::wait_for(GradientRun& run, std::uint32_t step, Clock::time_point deadline,
                             Clock::time_point since) {
  Status status = executor_->wait(run, step, deadline);
  if (status.code() != StatusCode::kTimeout || executor_->failing()) return status;
  return timeout_error(fmt::format("gradient {}, step {}: not done {:.1f} s after it was submitted: {}", run.spec.name,
                                   step, Seconds(Clock::now() - since).count(), status.message()));
}

Result<StepResult> SessionImpl::step() {
  CASYNC_RETURN_IF_ERROR(usable());
  if (executor_->failing()) return failure();
  if (Status status = wait_for_step(); !status) return end_with(status);
  return commit();
}

Status SessionImpl::wait_for_step() {
  GradientRun* last = nullptr;
  Clock::time_point since;
  std::uint32_t step = 0;
  {
    std::lock_guard lock(mutex_);
    step = step_;
    if (recorder_) recorder_->computed(program_now());
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (submitted_[i].steps != step_ + 1 || runs_[i]->completed.load() > step_) continue;
      last = runs_[i];
      since = submitted_[i].since;
    }
  }
  const Clock::time_point now = Clock::now(), until = deadline();
  // Waiting for one gradient first, because its Timeout says what is missing.
  if (last != nullptr) {
    const Status status = wait_for(*last, step, until, since);
    add_exposed(*last, Seconds(Clock::now() - now).count());
    if (status.code() == StatusCode::kTimeout) return end_late(*last, status);
    CASYNC_RETURN_IF_ERROR(status);
  }
  Status status = executor_->wait_all(until);
  if (status.code() != StatusCode::kTimeout || executor_->failing()) return status;
  return timeout_error(fmt::format("step {}: not done after {} s: {}", step, options_.timeout_s, status.message()));
}

StepResult SessionImpl::commit() {
  std::lock_guard lock(mutex_);
  StepResult result;
  result.step = step_;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (submitted_[i].steps != step_ + 1 || runs_[i]->finite) continue;
    const std::string& name = runs_[i]->spec.name;
    if (result.finite || name < result.first_non_finite) result.first_non_finite = name;
    result.finite = false;
  }
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (result.finite && submitted_[i].steps == step_ + 1 && runs_[i]->keeps) {
      runs_[i]->committed = 1 - runs_[i]->committed;
    }
  }
  if (timeline_) record_step();
  if (steps_here_++ == 0) first_step_allocations_ = executor_->counters().allocations.load();
  const Clock::time_point now = Clock::now();
  if (recorder_) recorder_->step_ended(program_now());
  if (watch_) watch(Seconds(now - step_begun_).count());
  step_begun_ = now;
  ++step_;
  return result;
}

void SessionImpl::record_step() {
  const double spent = executor_->processor_seconds() - executor_->counters().codec_processor_s.load();
  timeline_->record({SpanKind::kStep,
                     nullptr,
                     {},
                     step_,
                     -1,
                     0,
                     0,
                     step_begun_,
                     Clock::now(),
                     std::max(0.0, spent - std::exchange(spent_s_, spent))});
}

Status SessionImpl::close() {
  CASYNC_RETURN_IF_ERROR(usable());
  {
    std::lock_guard lock(mutex_);
    if (closed_) return Status::ok();
    closed_ = true;
  }
  const bool healthy = !executor_->failing();
  Status status;
  if (healthy) {
    status = say_goodbye();
  } else {  // which has been told, or nobody asked
    static_cast<void>(group_->close(Clock::now()));
  }
  executor_->stop(after(Seconds(healthy ? 1.0 : 0.1)));
  if (timeline_) write_trace();
  if (recorder_ && records()) write_record();
  if (sampler_) write_samples();
  return status;
}

Status SessionImpl::say_goodbye() {
  Status status = group_->close(after(kGoodbye));
  if (const int active = executor_->active(); active > 0) {
    return aborted("the session was closed while " + std::to_string(active) + " gradients were under way");
  }
  if (status.code() != StatusCode::kTimeout) return status;
  log().info("left before others did: {}", status.message());  // they may write a checkpoint first
  return Status::ok();
}

}  // namespace casync::runtime
