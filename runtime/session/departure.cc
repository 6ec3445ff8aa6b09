// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/departure.h"

#include <fmt/format.h>

#include <string>

#include "base/log.h"
#include "runtime/control/group/tree.h"

namespace casync::runtime {
namespace {

// Time that a rank that has left may take to end its threads.
constexpr Seconds kLetGo{1};

}  // namespace

Status Departure::serve_others(const std::function<Status()>& agree) {
  Executor& executor = *parts_.executor;
  if (executor.failures().failing() || !executor.waits().idle()) return Status::ok();
  bool declares = false;
  {
    std::lock_guard lock(tables_.mutex);
    declares = tables_.gradients.size() > 0;
  }
  if (declares) CASYNC_RETURN_IF_ERROR(agree());
  std::uint32_t steps = 0;
  {
    std::lock_guard lock(tables_.mutex);
    steps = tables_.step.number();
  }
  const Status served = executor.serve_others(steps, Seconds(parts_.options.timeout_s));
  if (!served) return job_end_.end_with(served);
  std::lock_guard lock(tables_.mutex);
  all_ended_ = true;
  return Status::ok();
}

Status Departure::leave(const Status& served) {
  Farewell completed;
  {
    std::lock_guard lock(tables_.mutex);
    gone_.close();
    completed = {all_ended_ ? kAllSteps : tables_.step.number(), tables_.completed()};
  }
  Executor& executor = *parts_.executor;
  const Status status = !served ? served : executor.failures().failing() ? Status::ok() : say_goodbye(completed);
  static_cast<void>(
      parts_.group->close(Clock::now()));  // where that has not: the failure has been told, or nobody asked
  return executor.stop(after(kLetGo), parts_.deadline()) ? status : abandon();
}

LastWords Departure::words_of(const Farewell& completed) const {
  return {encode_farewell(completed), parts_.paces->words()};
}

bool Departure::is_complete() const {
  std::lock_guard lock(tables_.mutex);
  return tables_.is_complete();
}

Status Departure::say_goodbye(const Farewell& completed) {
  Executor& executor = *parts_.executor;
  // Waits for messages of a complete step that other ranks may still need.
  if (is_complete()) static_cast<void>(executor.waits().wait_all(parts_.deadline()));
  if (const int active = executor.waits().active(); active > 0) {
    static_cast<void>(parts_.group->close(after(kLetGo), words_of(completed)));
    return aborted("the session was closed while " + std::to_string(active) + " gradients were under way");
  }
  Status status = executor.settle(parts_.deadline());
  if (status.code() == StatusCode::kTimeout) log().warn("closing: {}", status.message());
  if (!status && executor.failures().failing()) return status;
  return wait_for_others(completed);
}

/// Rank 0 serves the others until they have left, too. They give it and each other no longer than a rank may be silent.
Status Departure::wait_for_others(const Farewell& completed) {
  // Rank 0 serves the others, and in a tree of ranks many do.
  const bool serves = parts_.launch.rank == 0 || parts_.launch.ranks > kStarRanks;
  const Seconds patience = serves ? Seconds(parts_.options.timeout_s) : parts_.dead;
  Status status = parts_.group->close(after(patience), words_of(completed));
  if (status.code() != StatusCode::kTimeout) return status;
  log().info("left ahead of others: {}", status.message());  // they may write a checkpoint first
  return Status::ok();
}

/// Leaves everything that the executor's threads use to them.
Status Departure::abandon() {
  abandoned_ = true;
  Status status = timeout_error(
      fmt::format("the session was closed, and a task that was begun has not ended after {} s: its thread goes on, and "
                  "the gradients' memory is still in use",
                  parts_.options.timeout_s));
  log().error("{}", status.message());
  return status;
}

}  // namespace casync::runtime
