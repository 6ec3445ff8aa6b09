// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <mutex>
#include <optional>
#include <utility>

#include "runtime/session/copied.h"
#include "runtime/session/declarations.h"
#include "runtime/session/session_device.h"
#include "runtime/session/session_impl.h"
#include "runtime/session/session_nccl.h"

namespace casync::runtime {

std::string_view name_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::kAverage: return "average";
    case ReduceOp::kSum: return "sum";
    case ReduceOp::kCopy: return "copy";
  }
  return "?";
}

Result<GradientId> Session::declare_copied(const GradientSpec& gradient, std::optional<Rank>) {
  return copies_nothing(gradient);
}

Result<std::vector<Handle>> Session::submit(std::span<const Submission> submissions) {
  std::vector<Handle> handles(submissions.size());
  CASYNC_RETURN_IF_ERROR(submit(submissions, handles));
  return handles;
}

SessionImpl::~SessionImpl() {
  if (forked()) {
    // Threads that do not exist cannot be joined, and what they owned is the parent's, like the device's context.
    static_cast<void>(parts_.group.release());
    leave_to_threads();
  } else if (parts_.executor) {
    static_cast<void>(close());
    // Giving back any memory of a device waits for its work, which may not end.
    if (departure_.is_abandoned() || (!parts_.device->is_host() && holds_memory())) leave_to_threads();
  }
}

void SessionImpl::leave_to_threads() {
  parts_.leave_to_threads();
  ready_.leave_to_threads();
  record_.leave_to_threads();
}

Status SessionImpl::usable() const {
  if (!forked()) return Status::ok();
  return unavailable(
      fmt::format("process {} is a fork of the one whose session this is: open sessions after forking, "
                  "or start workers with \"spawn\"",
                  getpid()));
}

Status SessionImpl::failure() const {
  CASYNC_RETURN_IF_ERROR(usable());
  return parts_.executor->failures().failing() ? job_end_.failure() : Status::ok();
}

Exchanged SessionImpl::exchanged() const {
  if (forked()) return Exchanged::kNothing;
  std::lock_guard lock(tables_.mutex);
  return tables_.step.ask();
}

Status SessionImpl::begin_consensus() {
  CASYNC_RETURN_IF_ERROR(failure());
  if (!parts_.plan.mode.is_gossip() && !parts_.plan.mode.is_asynchronous()) {
    return invalid_argument(
        "a consensus is for a plan with gossip or asynchronous: without them the ranks' parameters are the same after "
        "each exchange");
  }
  std::lock_guard lock(tables_.mutex);
  CASYNC_RETURN_IF_ERROR(tables_.submissions.check_none());
  tables_.step.begin_consensus();
  return Status::ok();
}

Result<GradientId> SessionImpl::declare(const GradientSpec& gradient) {
  CASYNC_RETURN_IF_ERROR(failure());
  if (gradient.scattered && parts_.over_nccl()) return scattered_over_nccl(gradient);
  Result<Declared> declared = declare_gradient(parts_.plan, gradient, parts_.topology);
  return declared ? add(std::move(*declared)) : declared.status();
}

Result<GradientId> SessionImpl::declare_copied(const GradientSpec& gradient, std::optional<Rank> root) {
  CASYNC_RETURN_IF_ERROR(failure());
  if (parts_.options.op != ReduceOp::kCopy) return copies_nothing(gradient);
  Result<Declared> declared = runtime::declare_copied(gradient, root, parts_.topology);
  return declared ? add(std::move(*declared)) : declared.status();
}

Result<GradientId> SessionImpl::add(Declared declared) {
  Result<std::unique_ptr<Event>> ready = ready_.make();
  if (!ready) return ready.status();
  std::lock_guard lock(tables_.mutex);
  const Result<std::optional<GradientId>> known = tables_.gradients.find(declared);
  if (!known) return known.status();
  if (*known) return **known;
  CASYNC_RETURN_IF_ERROR(record_.declare(declared.spec));
  ready_.add(std::move(*ready));
  tables_.submissions.add(declared.spec);
  return tables_.gradients.add(std::move(declared));
}

Status SessionImpl::submit(std::span<const Submission> submissions, std::span<Handle> handles) {
  CASYNC_RETURN_IF_ERROR(usable());
  if (handles.size() < submissions.size()) {
    return invalid_argument("room for " + std::to_string(handles.size()) + " handles, expected " +
                            std::to_string(submissions.size()));
  }
  while (true) {
    if (parts_.executor->failures().failing()) return job_end_.failure();
    Status cause;  // of the job's end
    {
      std::lock_guard lock(tables_.mutex);
      if (gone_.closed()) return aborted("the session is closed");
      cause = tables_.submissions.check(submissions);
      if (!cause && !has_failed_device(cause)) return cause;
      if (cause) {
        const bool compared = comparisons_.are_done();
        if (compared) openings_.claim();
        const auto none_goes = gone_.hold();
        cause = gone_.first();
        if (compared && (cause.is_ok() || submissions.empty())) {
          cause = start(submissions, handles);
          if (cause) return cause;
        }
      }
    }
    if (!cause) return job_end_.end_with(cause);
    // And look again: others submit, too.
    if (Status status = comparisons_.compare(); !status) return job_end_.end_with(status);
  }
}

/// Under the session's mutex and gone_.hold(), to the end: a peer that breaks either is in gone_ already, or finds
/// these gradients under way.
Status SessionImpl::start(std::span<const Submission> submissions, std::span<Handle> handles) {
  if (submissions.empty()) return Status::ok();
  if (!parts_.device->is_host()) {
    Status noted = ready_.note(submissions);
    if (noted) noted = record_.sample_on_device(submissions, ready_);
    if (!noted) {
      const auto first = static_cast<std::size_t>(submissions.front().gradient);
      return Status(noted.code(),
                    fmt::format("gradient {}{}: {}", tables_.gradients.spec(first).name,
                                submissions.size() > 1 ? " and those submitted with it" : "", noted.message()));
    }
  }
  const Clock::time_point now = Clock::now();
  tables_.step.submitted(now);
  record_.submitted(submissions);
  starts_.start(submissions, handles, now);
  return Status::ok();
}

void SessionImpl::end_submissions() {
  if (!forked()) openings_.end_submissions();
}

void SessionImpl::nudge() {
  if (!forked()) parts_.executor->waits().nudge();
}

Status SessionImpl::wait(Handle handle, double timeout_s, Waiter waiter) {
  CASYNC_RETURN_IF_ERROR(usable());
  return waits_.wait(handle, timeout_s, waiter);
}

Status SessionImpl::wait_any(std::span<const Handle> handles, Clock::time_point until,
                             const std::atomic<bool>& interrupted, std::vector<Handle>* done) {
  done->clear();
  CASYNC_RETURN_IF_ERROR(usable());
  return waits_.wait_any(handles, until, interrupted, done);
}

Status SessionImpl::note_exposed(Handle handle, double seconds) {
  CASYNC_RETURN_IF_ERROR(usable());
  return waits_.note_exposed(handle, seconds);
}

Result<StepResult> SessionImpl::step() {
  CASYNC_RETURN_IF_ERROR(usable());
  const Clock::time_point until = parts_.deadline();
  {
    std::lock_guard lock(tables_.mutex);
    record_.computed();
  }
  if (parts_.over_nccl()) {
    if (Status status = check_all_submitted(); !status) return job_end_.end_with(status);
  }
  while (true) {
    if (Status status = waits_.wait_for_step(until); !status) return job_end_.end_with(status);
    std::unique_lock lock(tables_.mutex);
    if (!waits_.is_complete()) continue;  // another thread has submitted meanwhile
    Result<StepResult> done = commit();
    lock.unlock();
    if (!done) return job_end_.end_with(done.status());
    return done;
  }
}

Status SessionImpl::check_all_submitted() const {
  std::lock_guard lock(tables_.mutex);
  return tables_.submissions.check_all();
}

/// Under the session's mutex.
Result<StepResult> SessionImpl::commit() {
  StepResult result = tables_.result();
  CASYNC_RETURN_IF_ERROR(states_.commit(result.finite));
  report_.step_ended();
  const Clock::time_point now = Clock::now();
  record_.step_ended(now);
  tables_.step.end(now);
  states_.warn_of_strangers();
  return result;
}

SessionStats SessionImpl::stats() const { return forked() ? SessionStats{} : report_.stats(); }

Result<SessionState> SessionImpl::state() const {
  CASYNC_RETURN_IF_ERROR(usable());
  std::lock_guard lock(tables_.mutex);
  return states_.take();
}

Status SessionImpl::load_state(const SessionState& state) {
  CASYNC_RETURN_IF_ERROR(failure());
  std::lock_guard lock(tables_.mutex);
  CASYNC_RETURN_IF_ERROR(states_.check(state));
  const std::uint32_t steps_before = tables_.step.number() + (tables_.completed().empty() ? 0 : 1);
  CASYNC_RETURN_IF_ERROR(states_.adopt(state));
  waits_.forget();
  tables_.step.go_to(state.step);
  openings_.go_to(state.step);
  comparisons_.state_loaded(steps_before);
  return Status::ok();
}

void SessionImpl::abort(const std::string& reason) {
  if (!forked()) job_end_.abort(reason);
}

Status SessionImpl::close() {
  CASYNC_RETURN_IF_ERROR(usable());
  return close_.run([this] { return leave(); });
}

/// Under close_.
Status SessionImpl::leave() {
  Status served;
  if (parts_.plan.mode.is_asynchronous()) served = departure_.serve_others([this] { return submit({}, {}); });
  {
    std::lock_guard lock(tables_.mutex);
    record_.tell_pace();
  }
  Status status = departure_.leave(served);
  if (!departure_.is_abandoned()) {
    report_.write_trace();
    record_.write();
  }
  return status;
}

bool SessionImpl::holds_memory() const {
  return !forked() && (departure_.is_abandoned() || parts_.executor->holds_memory());
}

}  // namespace casync::runtime
