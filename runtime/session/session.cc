// SPDX-License-Identifier: Apache-2.0
//
// A session's steps: declare, submit, commit, close.
#include "runtime/session/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "casync/patterns/pairs.h"
#include "runtime/control/tree.h"
#include "runtime/session/agreement.h"
#include "runtime/session/handles.h"
#include "runtime/session/session_device.h"
#include "runtime/session/session_impl.h"
#include "runtime/session/session_nccl.h"

namespace casync::runtime {
namespace {

// Time that a rank that has left may take to end its threads.
constexpr Seconds kLetGo{1};

}  // namespace

Result<std::vector<Handle>> Session::submit(std::span<const Submission> submissions) {
  std::vector<Handle> handles(submissions.size());
  CASYNC_RETURN_IF_ERROR(submit(submissions, handles));
  return handles;
}

Result<GradientId> SessionImpl::declare(const GradientSpec& gradient) {
  CASYNC_RETURN_IF_ERROR(usable());
  Result<Declared> declared = declare_gradient(parts_.plan, gradient, parts_.topology);
  if (!declared) return declared.status();
  std::unique_ptr<Event> ready;
  if (!parts_.device->is_host()) {
    Result<std::unique_ptr<Event>> made = parts_.device->make_event();
    if (!made) return made.status();
    ready = std::move(*made);
  }
  std::lock_guard lock(mutex_);
  const auto known = ids_.find(gradient.name);
  if (known != ids_.end()) {
    const Declared& before = declared_[static_cast<std::size_t>(known->second)];
    if (before.text == declared->text) return known->second;
    return invalid_argument("gradient " + gradient.name + " was declared as " + before.text + ", and now as " +
                            declared->text);
  }
  for (const Declared& other : declared_) {
    if (other.key == declared->key) {
      return invalid_argument("gradients " + other.spec.name + " and " + gradient.name +
                              " have the same 64-bit hash: rename one");
    }
  }
  if (device_sampler_) CASYNC_RETURN_IF_ERROR(device_sampler_->declare(gradient));
  const auto id = GradientId(static_cast<std::uint32_t>(declared_.size()));
  ids_.emplace(gradient.name, id);
  declared_.push_back(std::move(*declared));
  submitted_.emplace_back();
  memory_of_.push_back({gradient.bytes(), bytes_of(gradient.dtype)});
  ready_.push_back({std::move(ready), nullptr});
  runs_.push_back(nullptr);
  return id;
}

Status SessionImpl::check(const Submission& one) const {
  const std::size_t index = static_cast<std::size_t>(one.gradient);
  if (index >= declared_.size()) return invalid_argument("no gradient has the id " + std::to_string(index));
  const GradientSpec& spec = declared_[index].spec;
  const bool fits = parts_.device->is_host() && one.device_data.is_null() && memory_of_[index].fits(one.data);
  if (!fits) CASYNC_RETURN_IF_ERROR(check_memory(*parts_.device, spec, one));
  if (submitted_[index].steps == step_ + 1) return submitted_twice(spec, step_);
  return Status::ok();
}

/// Checks all in one pass: a gradient that this call has named carries the call's number.
Status SessionImpl::check(std::span<const Submission> submissions) {
  if (!submissions.empty() && exchanged_now() == Exchanged::kNothing) {
    return exchanges_nothing(parts_.plan.mode, step_);
  }
  if (!submissions.empty() && !asked_ && exchanged_now() == Exchanged::kParameters) {
    return invalid_argument(
        fmt::format("step {} exchanges parameters by the plan's gossip, and this program has not asked what it "
                    "exchanges, so what it "
                    "submits may be gradients: leave `gossip` out of the plan",
                    step_));
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

/// Under mutex_.
Exchanged SessionImpl::exchanged_now() const {
  return consensus_ ? Exchanged::kParameters : exchanged_in(parts_.plan.mode, step_);
}

Exchanged SessionImpl::exchanged() const {
  if (forked()) return Exchanged::kNothing;
  std::lock_guard lock(mutex_);
  asked_ = true;
  return exchanged_now();
}

Status SessionImpl::begin_consensus() {
  CASYNC_RETURN_IF_ERROR(usable());
  if (!parts_.plan.mode.is_gossip() && !parts_.plan.mode.is_asynchronous()) {
    return invalid_argument(
        "a consensus is for a plan with gossip or asynchronous: without them the ranks' parameters are the same after "
        "each exchange");
  }
  std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < submitted_.size(); ++i) {
    if (submitted_[i].steps != step_ + 1) continue;
    return invalid_argument("gradient " + declared_[i].spec.name + " was submitted in step " + std::to_string(step_) +
                            " before the consensus: end the step first");
  }
  consensus_ = asked_ = true;
  return Status::ok();
}

Status SessionImpl::submit(std::span<const Submission> submissions, std::span<Handle> handles) {
  CASYNC_RETURN_IF_ERROR(usable());
  if (handles.size() < submissions.size()) {
    return invalid_argument("room for " + std::to_string(handles.size()) + " handles, expected " +
                            std::to_string(submissions.size()));
  }
  while (true) {
    if (parts_.executor->failing()) return job_end_.failure();
    Status gone;
    {
      std::lock_guard lock(mutex_);
      if (gone_.closed()) return aborted("the session is closed");
      CASYNC_RETURN_IF_ERROR(check(submissions));
      const bool compared = steps_compared();
      if (compared) claim_declared();
      const auto none_goes = gone_.hold();
      gone = gone_.first();
      if (compared && (gone.is_ok() || submissions.empty())) {
        if (!parts_.device->is_host()) CASYNC_RETURN_IF_ERROR(note_ready(submissions));
        start(submissions, handles);
        return Status::ok();
      }
    }
    if (!gone.is_ok()) return job_end_.end_with(gone);
    if (Status status = compare_steps(); !status)
      return job_end_.end_with(status);  // and look again: others submit, too
  }
}

/// Under mutex_ and gone_.hold(), to the end: a peer that breaks either is in gone_ before, or finds these gradients
/// under way.
void SessionImpl::start(std::span<const Submission> submissions, std::span<Handle> handles) {
  const Clock::time_point now = Clock::now();
  if (submissions.empty()) return;
  together_ = false;
  if (first_submitted_ == Clock::time_point{}) first_submitted_ = now;
  last_submitted_ = now;
  if (moments_) moments_->submitted(submissions);
  starts_.clear();
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    const std::size_t index = static_cast<std::size_t>(submissions[i].gradient);
    Submitted& last = submitted_[index];
    last.steps = step_ + 1;
    last.since = now;
    last.waited_since = {};
    handles[i] = handle_of(step_, submissions[i].gradient);
    if (runs_[index] != nullptr) {
      starts_.push_back(start_of(runs_[index], step_, submissions[i]));
    } else {
      held_.push_back({index, step_, submissions[i]});
    }
    if (samples() && !device_sampler_) sampler_->submitted(index, declared_[index].spec, submissions[i].data, step_);
  }
  if (const std::size_t held = submissions.size() - starts_.size(); held > 0)
    parts_.executor->hold(static_cast<int>(held));
  parts_.executor->submit(starts_);
}

/// The run that stands for `run` in a step of parameters: it goes to the neighbours of this step, or makes a consensus.
/// Null: `run` itself makes the step's result. Under mutex_.
GradientRun* SessionImpl::gossip_of(const GradientRun& run) const {
  if (exchanged_now() != Exchanged::kParameters) return nullptr;
  if (consensus_) return run.consensus;
  const bool pairs = parts_.plan.mode.neighbours == Neighbours::kPairs;
  return run.gossip[pairs ? static_cast<std::size_t>(pairs::round_of(parts_.plan.seed, step_, parts_.launch.ranks)) : 0]
      .get();
}

Executor::Start SessionImpl::start_of(GradientRun* run, std::uint32_t step, const Submission& one) const {
  const Event* const ready = parts_.device->is_host() ? nullptr : ready_[static_cast<std::size_t>(one.gradient)].noted;
  return {run, step, one.data, one.device_data, ready, gossip_of(*run)};
}

/// The run of a handle's gradient; null if not every rank has declared it.
Result<StepResult> SessionImpl::step() {
  CASYNC_RETURN_IF_ERROR(usable());
  const Clock::time_point until = parts_.deadline();
  if (std::lock_guard lock(mutex_); moments_) moments_->computed();
  if (parts_.over_nccl()) {
    if (Status status = check_all_submitted(); !status) return job_end_.end_with(status);
  }
  while (true) {
    if (Status status = wait_for_step(until); !status) return job_end_.end_with(status);
    std::unique_lock lock(mutex_);
    if (!is_complete()) continue;  // another thread has submitted meanwhile
    Result<StepResult> done = commit();
    lock.unlock();
    if (!done) return job_end_.end_with(done.status());
    return done;
  }
}

/// Messages that match by order have no place for a gradient that is left out.
Status SessionImpl::check_all_submitted() {
  std::lock_guard lock(mutex_);
  if (exchanged_in(parts_.plan.mode, step_) == Exchanged::kNothing) return Status::ok();
  for (std::size_t i = 0; i < declared_.size(); ++i) {
    if (submitted_[i].steps != step_ + 1) return not_submitted(declared_[i].spec, step_);
  }
  return Status::ok();
}

/// Returns true if nothing of the step is under way. Under mutex_.
bool SessionImpl::is_complete() const {
  if (parts_.executor->idle() && !parts_.executor->failing())
    return true;  // in this order: a failure makes it idle, too
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (submitted_[i].steps != step_ + 1) continue;
    if (runs_[i] == nullptr || runs_[i]->completed.load(std::memory_order_acquire) <= step_) return false;
  }
  return true;
}

/// Returns OK when all that had been submitted is complete, also when the job has failed since.
Status SessionImpl::wait_for_step(Clock::time_point until) {
  end_submissions();
  CASYNC_RETURN_IF_ERROR(wait_for_held(until));
  GradientRun* last = nullptr;
  Clock::time_point since;
  std::uint32_t step = 0;
  bool any = false;
  {
    std::lock_guard lock(mutex_);
    step = step_;
    for (std::size_t i = runs_.size(); i-- > 0 && last == nullptr;) {
      if (submitted_[i].steps != step_ + 1) continue;
      any = true;
      if (runs_[i] == nullptr || runs_[i]->completed.load() > step_) continue;
      last = runs_[i];
      since = submitted_[i].since;
    }
  }
  if (parts_.executor->failing() && (!any || job_end_.aborted())) return parts_.executor->failure();
  if (last == nullptr) return Status::ok();
  // Waiting for one gradient first, because its Timeout says what is missing.
  const Clock::time_point now = Clock::now();
  const Status status = wait_for(*last, step, until, since);
  waited(*last, step, now, Clock::now());
  if (status.code() == StatusCode::kTimeout) return job_end_.end_late(*last, status);
  CASYNC_RETURN_IF_ERROR(status);
  const Status all = parts_.executor->wait_all(until);
  if (all.code() != StatusCode::kTimeout || parts_.executor->failing()) return Status::ok();  // the caller looks again
  return timeout_error(fmt::format("step {}: not done after {} s: {}", step, parts_.options.timeout_s, all.message()));
}

Result<StepResult> SessionImpl::commit() {
  StepResult result;
  result.step = step_;
  constexpr std::size_t kAhead = 8;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (i + kAhead < runs_.size() && runs_[i + kAhead] != nullptr) fetch_step_of(runs_[i + kAhead]);
    if (submitted_[i].steps != step_ + 1 || runs_[i]->finite) continue;
    const std::string& name = runs_[i]->spec.name;
    if (result.finite || name < result.first_non_finite) result.first_non_finite = name;
    result.finite = false;
  }
  if (!result.finite && !parts_.plan.mode.is_asynchronous()) CASYNC_RETURN_IF_ERROR(begin_anew());
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    // An owner has added what this rank's code says, whatever the answer is.
    const bool counts = result.finite || parts_.plan.mode.is_asynchronous();
    if (counts && submitted_[i].steps == step_ + 1 && runs_[i]->keeps) {
      runs_[i]->committed = 1 - runs_[i]->committed;
    }
  }
  if (parts_.timeline) record_step();
  if (consensus_ && first_submitted_ != Clock::time_point{}) together_ = true;
  first_submitted_ = {};
  if (steps_here_++ == 0) first_step_allocations_ = parts_.executor->counters().allocations.load();
  const Clock::time_point now = Clock::now();
  if (moments_) moments_->step_ended();
  if (device_sampler_) device_sampler_->take_over();
  if (watch_) watch(Seconds(now - step_begun_).count());
  step_begun_ = now;
  ++step_;
  consensus_ = asked_ = false;
  warn_of_strangers();
  return result;
}

/// Under mutex_.
Farewell SessionImpl::farewell() const {
  Farewell farewell{all_ended_ ? kAllSteps : step_, {}};
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (submitted_[i].steps == step_ + 1 && runs_[i] != nullptr && runs_[i]->completed.load() > step_) {
      farewell.gradients.push_back(declared_[i].key);
    }
  }
  return farewell;
}

Status SessionImpl::close() {
  CASYNC_RETURN_IF_ERROR(usable());
  Status served;
  if (parts_.plan.mode.is_asynchronous()) served = serve_others();
  Farewell completed;
  {
    std::lock_guard lock(mutex_);
    if (!gone_.close()) return Status::ok();
    completed = farewell();
  }
  const Status status = !served ? served : parts_.executor->failing() ? Status::ok() : say_goodbye(completed);
  static_cast<void>(
      parts_.group->close(Clock::now()));  // where that has not: the failure has been told, or nobody asked
  if (!parts_.executor->stop(after(kLetGo), parts_.deadline())) return abandon();
  if (parts_.timeline) write_trace();
  write_records();
  return status;
}

/// Answers ranks that have not ended their steps. A server that has none agrees with the others on its gradients here.
Status SessionImpl::serve_others() {
  bool declares = false;
  {
    std::lock_guard lock(mutex_);
    if (gone_.closed() || std::exchange(serving_, true)) return Status::ok();
    declares = !declared_.empty();
  }
  if (parts_.executor->failing() || !parts_.executor->idle()) return Status::ok();
  if (declares) CASYNC_RETURN_IF_ERROR(submit({}, {}));
  std::uint32_t steps = 0;
  {
    std::lock_guard lock(mutex_);
    steps = step_;
  }
  const Status served = parts_.executor->serve_others(steps, Seconds(parts_.options.timeout_s));
  if (!served) return job_end_.end_with(served);
  std::lock_guard lock(mutex_);
  all_ended_ = true;
  return Status::ok();
}

/// Leaves everything that the executor's threads use to them.
Status SessionImpl::abandon() {
  abandoned_ = true;
  Status status = timeout_error(
      fmt::format("the session was closed, and a task that was begun has not ended after {} s: its thread goes on, and "
                  "the gradients' memory is still in use",
                  parts_.options.timeout_s));
  log().error("{}", status.message());
  return status;
}

Status SessionImpl::say_goodbye(const Farewell& completed) {
  if (const int active = parts_.executor->active(); active > 0) {
    static_cast<void>(parts_.group->close(after(kLetGo), encode_farewell(completed)));
    return aborted("the session was closed while " + std::to_string(active) + " gradients were under way");
  }
  Status status = parts_.executor->settle(parts_.deadline());
  if (status.code() == StatusCode::kTimeout) log().warn("closing: {}", status.message());
  if (!status && parts_.executor->failing()) return status;
  return leave(completed);
}

/// Rank 0 serves the others until they have left, too. They give it and each other no longer than a rank may be silent.
Status SessionImpl::leave(const Farewell& completed) {
  // Rank 0 serves the others, and in a tree of ranks many do.
  const bool serves = parts_.launch.rank == 0 || parts_.launch.ranks > kStarRanks;
  const Seconds patience = serves ? Seconds(parts_.options.timeout_s) : parts_.dead;
  Status status = parts_.group->close(after(patience), encode_farewell(completed));
  if (status.code() != StatusCode::kTimeout) return status;
  log().info("left before others did: {}", status.message());  // they may write a checkpoint first
  return Status::ok();
}

}  // namespace casync::runtime
