// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/clock.h"
#include "base/status.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/executor/requests.h"
#include "runtime/executor/waiters.h"

namespace casync::runtime {

class MissingWork;

/// Waits of the program's threads for steps of gradients. Each ends with the failure once there is one, and callers'
/// memory is theirs again. Any thread.
class StepWaits {
 public:
  /// Borrows all of these.
  StepWaits(Waiters& waiters, Requests& requests, const MissingWork& missing)
      : waiters_(waiters), requests_(requests), missing_(missing) {}

  /// Waits until `run` has completed `step`, or until `is_forgotten` returns true, which is asked after nudge() and as
  /// in wait_until(). Timeout says what is missing.
  Status wait(
      GradientRun& run, std::uint32_t step, Clock::time_point deadline,
      const std::function<bool()>& is_forgotten = [] { return false; });
  struct Awaited {
    GradientRun* run = nullptr;  ///< null: never completes
    std::uint32_t step = 0;
  };
  /// Waits until one of these has completed, or until `interrupted` returns true, which is asked after nudge() and as
  /// in wait_until(). Timeout otherwise.
  Status wait_any(std::span<const Awaited> awaited, Clock::time_point deadline,
                  const std::function<bool()>& interrupted);
  /// Lets every wait_any() look at its `interrupted` again.
  void nudge() { waiters_.nudge(); }
  /// Waits until `ready` returns true; it is asked after each round of the progress thread that finished a gradient or
  /// took one in. Timeout.
  Status wait_until(const std::function<bool()>& ready, Clock::time_point deadline) const;
  /// Waits until nothing is under way. Timeout.
  Status wait_all(Clock::time_point deadline);

  /// Returns true if `run` waits for another rank's contribution, and not only for a result that a third rank makes of
  /// several: a missing contribution shows which rank is late.
  bool knows_who_is_late(const GradientRun& run);
  /// The number of gradients under way.
  int active() const { return waiters_.active(); }
  bool idle() const { return active() == 0; }

 private:
  Waiters& waiters_;
  Requests& requests_;
  const MissingWork& missing_;
};

}  // namespace casync::runtime
