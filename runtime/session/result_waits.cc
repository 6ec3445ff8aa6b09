// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/result_waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <string>

#include "runtime/session/handles.h"

namespace casync::runtime {

Clock::duration ResultWaits::timeout() const {
  return std::chrono::duration_cast<Clock::duration>(Seconds(parts_.options.timeout_s));
}

bool ResultWaits::done(Handle handle) const {
  std::lock_guard lock(tables_.mutex);
  const Result<GradientRun*> run = tables_.run_of(handle);
  const bool is_done = run && *run != nullptr && (*run)->step.has_completed(step_of(handle));
  if (is_done) record_.needs(index_of(handle));
  return is_done;
}

bool ResultWaits::has_finite_result(Handle handle) const {
  std::lock_guard lock(tables_.mutex);
  const Result<GradientRun*> run = tables_.run_of(handle);
  return run && *run != nullptr && (*run)->step.has_completed(step_of(handle)) && (*run)->step.is_finite();
}

Status ResultWaits::note_exposed(Handle handle, double seconds) {
  if (!(seconds >= 0)) return invalid_argument("exposed for " + std::to_string(seconds) + " s, expected 0 or more");
  std::lock_guard lock(tables_.mutex);
  const Result<GradientRun*> run = tables_.run_of(handle);
  if (!run) return run.status();
  if (*run == nullptr) return Status::ok();
  const Clock::time_point now = Clock::now();
  const Seconds shown(std::min(seconds, parts_.options.timeout_s));
  (*run)->exposed.add(shown);
  show_wait(**run, step_of(handle), now - std::chrono::duration_cast<Clock::duration>(shown), now);
  return Status::ok();
}

/// Counts a wait for reports. A run's time begins with its step, and a wait until ranks agree on the gradient is none
/// of it.
void ResultWaits::waited(GradientRun& run, std::uint32_t step, Clock::time_point since, Clock::time_point now) const {
  run.exposed.add(now - std::clamp(run.step.begun(), since, now));
  show_wait(run, step, since, now);
}

/// Shows a wait in the timeline if it is long enough to be seen there.
void ResultWaits::show_wait(GradientRun& run, std::uint32_t step, Clock::time_point since,
                            Clock::time_point now) const {
  constexpr Seconds kLeastShown{5e-6};
  if (parts_.timeline && now - since >= kLeastShown) {
    parts_.timeline->record({SpanKind::kWait, &run, {}, step, -1, 0, 0, since, now, 0});
  }
}

void ResultWaits::forget() {
  tables_.submissions.forget();
  forgotten_.fetch_add(1);
  parts_.executor->waits().nudge();
}

Status ResultWaits::wait(Handle handle, double timeout_s, Waiter waiter) {
  const Clock::time_point now = Clock::now();
  Clock::time_point since, last;
  std::uint64_t forgotten = 0;
  bool recorded = false;
  {
    std::lock_guard lock(tables_.mutex);
    const Result<GradientRun*> known = tables_.run_of(handle);
    if (!known) return known.status();
    const std::uint32_t index = index_of(handle);
    since = tables_.submissions.since(index);
    last = tables_.submissions.waited_since(index, step_of(handle), now) + timeout();
    recorded = waiter == Waiter::kProgram && record_.waits(index);
    forgotten = forgotten_.load();
  }
  const auto is_forgotten = [&] { return forgotten_.load() != forgotten; };
  const bool own = timeout_s >= 0 && timeout_s < parts_.options.timeout_s;
  const Clock::time_point until = own ? std::min(last, after(Seconds(timeout_s))) : last;
  const Result<GradientRun*> run = openings_.wait_for_run(handle, until, last);
  Status status = run ? wait_for(**run, step_of(handle), until, since, std::cref(is_forgotten)) : run.status();
  if (run && waiter == Waiter::kProgram) waited(**run, step_of(handle), now, Clock::now());
  if (recorded) {
    std::lock_guard lock(tables_.mutex);
    record_.goes_on();
  }
  if (is_forgotten() && (status.is_ok() || status.code() == StatusCode::kTimeout)) return unknown(handle);
  if (run && status.code() == StatusCode::kTimeout && Clock::now() >= last) return job_end_.end_late(**run, status);
  return status;
}

/// Under the session's mutex.
Result<ResultWaits::Earliest> ResultWaits::begin(std::span<const Handle> handles,
                                                 std::vector<StepWaits::Awaited>* awaited) {
  const Clock::time_point now = Clock::now();
  Earliest earliest;
  awaited->clear();
  for (const Handle handle : handles) {
    const Result<GradientRun*> run = tables_.run_of(handle);
    if (!run) return run.status();
    awaited->push_back({*run, step_of(handle)});
    const Clock::time_point last = tables_.submissions.waited_since(index_of(handle), step_of(handle), now) + timeout();
    if (last < earliest.last) earliest = {handle, last};
  }
  return earliest;
}

Status ResultWaits::wait_any(std::span<const Handle> handles, Clock::time_point until,
                             const std::atomic<bool>& interrupted, std::vector<Handle>* done) {
  thread_local std::vector<StepWaits::Awaited> awaited;  // keeps its memory: this runs in every step
  std::unique_lock lock(tables_.mutex);
  const std::uint64_t seen = openings_.count();
  const Result<Earliest> earliest = begin(handles, &awaited);
  lock.unlock();
  if (!earliest) return earliest.status();
  // A gradient that is held has no run. Once it has one the caller asks again.
  const auto stop = [&] { return interrupted.load() || openings_.count() != seen; };
  const Clock::time_point deadline = std::min(until, earliest->last);
  const Status status = parts_.executor->waits().wait_any(awaited, deadline, std::cref(stop));
  for (std::size_t i = 0; i < handles.size(); ++i) {
    if (awaited[i].run != nullptr && awaited[i].run->step.completed() > awaited[i].step) done->push_back(handles[i]);
  }
  if (status.code() != StatusCode::kTimeout) return status;
  if (until < earliest->last && !parts_.executor->failures().failing()) return Status::ok();
  // A wait for that one alone says what it lacks, and ends the job.
  return wait(earliest->handle, -1, Waiter::kHelper);
}

Status ResultWaits::wait_for(GradientRun& run, std::uint32_t step, Clock::time_point deadline, Clock::time_point since,
                             const std::function<bool()>& is_forgotten) const {
  Status status = parts_.executor->waits().wait(run, step, deadline, is_forgotten);
  if (status.code() != StatusCode::kTimeout || parts_.executor->failures().failing()) return status;
  return timeout_error(fmt::format("gradient {}, step {}: not done {:.1f} s after it was submitted: {}", run.spec.name,
                                   step, Seconds(Clock::now() - since).count(), status.message()));
}

Status ResultWaits::wait_for_step(Clock::time_point until) {
  openings_.end_submissions();
  CASYNC_RETURN_IF_ERROR(openings_.wait_for_held(until));
  Executor& executor = *parts_.executor;
  GradientRun* last = nullptr;
  Clock::time_point since;
  std::uint32_t step = 0;
  bool any = false;
  {
    std::lock_guard lock(tables_.mutex);
    step = tables_.step.number();
    for (std::size_t i = tables_.gradients.size(); i-- > 0 && last == nullptr;) {
      if (!tables_.submissions.in_step(i)) continue;
      any = true;
      GradientRun* const run = tables_.gradients.run(i);
      if (run == nullptr || run->step.completed() > step) continue;
      last = run;
      since = tables_.submissions.since(i);
    }
  }
  if (executor.failures().failing() && (!any || job_end_.aborted())) return executor.failures().failure();
  // Waiting for one gradient first, because its Timeout says what is missing.
  if (last != nullptr) {
    const Clock::time_point now = Clock::now();
    const Status status = wait_for(*last, step, until, since, [] { return false; });
    waited(*last, step, now, Clock::now());
    if (status.code() == StatusCode::kTimeout) return job_end_.end_late(*last, status);
    CASYNC_RETURN_IF_ERROR(status);
  }
  // Waits for messages that this rank still owes to others.
  if (executor.waits().idle()) return Status::ok();
  const Status all = executor.waits().wait_all(until);
  if (all.code() != StatusCode::kTimeout || executor.failures().failing())
    return Status::ok();  // the caller looks again
  return timeout_error(fmt::format("step {}: not done after {} s: {}", step, parts_.options.timeout_s, all.message()));
}

bool ResultWaits::is_complete() const {
  // In this order: a failure makes it idle, too.
  if (parts_.executor->waits().idle() && !parts_.executor->failures().failing()) return true;
  return tables_.is_complete();
}

}  // namespace casync::runtime
