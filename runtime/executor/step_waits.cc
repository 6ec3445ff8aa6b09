// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/step_waits.h"

#include <algorithm>
#include <optional>
#include <string>
#include <thread>

#include "runtime/executor/missing_work.h"

namespace casync::runtime {
namespace {

// Time for which another thread waits for the progress thread to say what is missing.
constexpr Seconds kAnswerTime{0.5};

// Time for which a caller that waits for a gradient looks until it sleeps: a small one is there by then, and waking up
// would take a tenth of its time. Whoever else wants the core gets it.
constexpr std::chrono::microseconds kPollTime{100};

}  // namespace

Status StepWaits::wait(GradientRun& run, std::uint32_t step, Clock::time_point deadline,
                       const std::function<bool()>& is_forgotten) {
  const auto completed = [&] { return run.step.completed() > step; };
  if (completed()) return Status::ok();
  for (const auto until = std::min(deadline, Clock::now() + kPollTime); !completed() && Clock::now() < until;) {
    std::this_thread::yield();
  }
  const auto is_over = [&] { return completed() || is_forgotten(); };
  const std::optional<Status> over = waiters_.wait_until(is_over, deadline);
  if (completed()) return Status::ok();
  if (over) return *over;
  const auto lacks = requests_.ask<std::string>([this, &run] { return missing_.of(run); }, kAnswerTime);
  if (!lacks && waiters_.failing()) return waiters_.failure();
  return timeout_error(lacks.value_or("the progress thread is busy with a task, and does not say what is missing"));
}

Status StepWaits::wait_any(std::span<const Awaited> awaited, Clock::time_point deadline,
                           const std::function<bool()>& interrupted) {
  const auto any = [&] {
    return std::any_of(awaited.begin(), awaited.end(),
                       [](const Awaited& one) { return one.run != nullptr && one.run->step.completed() > one.step; });
  };
  const std::optional<Status> over = waiters_.wait_until([&] { return interrupted() || any(); }, deadline);
  if (interrupted() || any()) return Status::ok();
  return over.value_or(timeout_error("none of " + std::to_string(awaited.size()) + " is done"));
}

bool StepWaits::knows_who_is_late(const GradientRun& run) {
  return requests_.ask<bool>([this, &run] { return missing_.lacks_contribution(run); }, kAnswerTime).value_or(true);
}

Status StepWaits::wait_until(const std::function<bool()>& ready, Clock::time_point deadline) const {
  return waiters_.wait_until(ready, deadline).value_or(timeout_error("not ready in time"));
}

Status StepWaits::wait_all(Clock::time_point deadline) {
  const std::optional<Status> over = waiters_.wait_until([&] { return idle(); }, deadline);
  return over ? *over : timeout_error(std::to_string(active()) + " gradients are under way");
}

}  // namespace casync::runtime
