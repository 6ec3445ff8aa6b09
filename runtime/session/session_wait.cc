// SPDX-License-Identifier: Apache-2.0
//
// Waits for results, and the time that a program loses in them.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "runtime/session/handles.h"
#include "runtime/session/session_impl.h"

namespace casync::runtime {

Result<GradientRun*> SessionImpl::run_of(Handle handle) const {
  const std::uint32_t index = index_of(handle);
  if (index < runs_.size() && submitted_[index].steps > step_of(handle)) return runs_[index];
  return invalid_argument("a handle that no submission gave");
}

bool SessionImpl::done(Handle handle) const {
  if (forked()) return false;
  std::lock_guard lock(mutex_);
  const Result<GradientRun*> run = run_of(handle);
  const bool is_done = run && *run != nullptr && (*run)->completed.load(std::memory_order_acquire) > step_of(handle);
  if (is_done && moments_) moments_->needs(index_of(handle));
  return is_done;
}

Status SessionImpl::note_exposed(Handle handle, double seconds) {
  CASYNC_RETURN_IF_ERROR(usable());
  if (!(seconds >= 0)) return invalid_argument("exposed for " + std::to_string(seconds) + " s, expected 0 or more");
  std::lock_guard lock(mutex_);
  const Result<GradientRun*> run = run_of(handle);
  if (!run) return run.status();
  if (*run == nullptr) return Status::ok();
  const Clock::time_point now = Clock::now();
  const Seconds shown(std::min(seconds, parts_.options.timeout_s));
  waited(**run, step_of(handle), now - std::chrono::duration_cast<Clock::duration>(shown), now);
  return Status::ok();
}

/// Counts the wait for reports, and shows it in the timeline if it is long enough to be seen there.
void SessionImpl::waited(GradientRun& run, std::uint32_t step, Clock::time_point since, Clock::time_point now) {
  constexpr Seconds kLeastShown{5e-6};
  run.exposed_s.fetch_add(Seconds(now - since).count());
  if (parts_.timeline && now - since >= kLeastShown) {
    parts_.timeline->record({SpanKind::kWait, &run, {}, step, -1, 0, 0, since, now, 0});
  }
}

Status SessionImpl::wait(Handle handle, double timeout_s, Waiter waiter) {
  CASYNC_RETURN_IF_ERROR(usable());
  const Clock::time_point now = Clock::now();
  Clock::time_point since, last;
  bool recorded = false;
  {
    std::lock_guard lock(mutex_);
    const Result<GradientRun*> known = run_of(handle);
    if (!known) return known.status();
    Submitted& submitted = submitted_[index_of(handle)];
    if (submitted.waited_since == Clock::time_point{}) submitted.waited_since = now;
    since = submitted.since;
    last = submitted.waited_since + std::chrono::duration_cast<Clock::duration>(Seconds(parts_.options.timeout_s));
    recorded = moments_ && waiter == Waiter::kProgram;
    if (recorded) moments_->waits(index_of(handle));
  }
  const bool own = timeout_s >= 0 && timeout_s < parts_.options.timeout_s;
  const Clock::time_point until = own ? std::min(last, after(Seconds(timeout_s))) : last;
  const Result<GradientRun*> run = wait_for_run(handle, until, last);
  Status status = run ? wait_for(**run, step_of(handle), until, since) : run.status();
  if (run && waiter == Waiter::kProgram) waited(**run, step_of(handle), now, Clock::now());
  if (recorded) {
    std::lock_guard lock(mutex_);
    if (moments_) moments_->goes_on();
  }
  if (run && status.code() == StatusCode::kTimeout && Clock::now() >= last) return job_end_.end_late(**run, status);
  return status;
}

Result<SessionImpl::Earliest> SessionImpl::begin_wait(std::span<const Handle> handles,
                                                      std::vector<Executor::Awaited>* awaited) {
  const Clock::time_point now = Clock::now();
  const auto timeout = std::chrono::duration_cast<Clock::duration>(Seconds(parts_.options.timeout_s));
  Earliest earliest;
  awaited->clear();
  for (const Handle handle : handles) {
    const Result<GradientRun*> run = run_of(handle);
    if (!run) return run.status();
    awaited->push_back({*run, step_of(handle)});
    Submitted& submitted = submitted_[index_of(handle)];
    if (submitted.waited_since == Clock::time_point{}) submitted.waited_since = now;
    const Clock::time_point last = submitted.waited_since + timeout;
    if (last < earliest.last) earliest = {handle, last};
  }
  return earliest;
}

Status SessionImpl::wait_any(std::span<const Handle> handles, const std::atomic<bool>& interrupted,
                             std::vector<Handle>* done) {
  done->clear();
  CASYNC_RETURN_IF_ERROR(usable());
  thread_local std::vector<Executor::Awaited> awaited;  // keeps its memory: this runs in every step
  std::unique_lock lock(mutex_);
  const std::uint64_t seen = openings_.load();
  const Result<Earliest> earliest = begin_wait(handles, &awaited);
  lock.unlock();
  if (!earliest) return earliest.status();
  // A gradient that is held has no run. Once it has one the caller asks again.
  const auto stop = [&] { return interrupted.load() || openings_.load() != seen; };
  const Status status = parts_.executor->wait_any(awaited, earliest->last, std::cref(stop));
  for (std::size_t i = 0; i < handles.size(); ++i) {
    if (awaited[i].run != nullptr && awaited[i].run->completed.load(std::memory_order_acquire) > awaited[i].step)
      done->push_back(handles[i]);
  }
  // A wait for that one alone says what it lacks, and ends the job.
  return status.code() == StatusCode::kTimeout ? wait(earliest->handle, -1, Waiter::kHelper) : status;
}

void SessionImpl::nudge() {
  if (!forked()) parts_.executor->nudge();
}

Status SessionImpl::wait_for(GradientRun& run, std::uint32_t step, Clock::time_point deadline,
                             Clock::time_point since) {
  Status status = parts_.executor->wait(run, step, deadline);
  if (status.code() != StatusCode::kTimeout || parts_.executor->failing()) return status;
  return timeout_error(fmt::format("gradient {}, step {}: not done {:.1f} s after it was submitted: {}", run.spec.name,
                                   step, Seconds(Clock::now() - since).count(), status.message()));
}

}  // namespace casync::runtime
