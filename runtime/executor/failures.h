// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.h"
#include "base/status.h"
#include "runtime/executor/executor_options.h"
#include "runtime/executor/requests.h"
#include "runtime/executor/waiters.h"

namespace casync::runtime {

/// The failure that ends an executor. The first cause stands. Any thread, but for report().
class Failures {
 public:
  /// Borrows all of these. The events are set ahead of the first report().
  Failures(Requests& requests, Waiters& waiters, const ExecutorEvents& events)
      : requests_(requests), waiters_(waiters), events_(events) {}

  /// Ends everything with this cause.
  void fail(Status cause);
  /// The same with a cause that only this rank may know of: the executor's owner, who tells the others, hears of it
  /// first. The progress thread's.
  void report(Status cause);

  bool failing() const { return waiters_.failing(); }
  /// OK while there is none; Aborted once closed.
  Status failure() const { return waiters_.failure(); }
  /// After fail(): waits until the callers' memory is theirs again, and returns the failure, which says so if it is not
  /// theirs by the deadline: a task cannot be called back. Not on a thread that the executor or the group calls back
  /// on.
  Status wait_for_end(Clock::time_point deadline) const;

 private:
  Requests& requests_;
  Waiters& waiters_;
  const ExecutorEvents& events_;
};

}  // namespace casync::runtime
