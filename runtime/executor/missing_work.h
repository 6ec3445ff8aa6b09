// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/executor/asynchronous_ranks.h"
#include "runtime/executor/computing.h"
#include "runtime/executor/executor_options.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/executor/run_table.h"
#include "runtime/executor/stall_watch.h"
#include "runtime/executor/waiters.h"
#include "runtime/executor/work_record.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// Says which messages and tasks the steps under way wait for: in errors, and in a warning when nothing has moved for a
/// while. The progress thread's.
class MissingWork {
 public:
  /// Borrows all of these.
  MissingWork(const ExecutorOptions& options, const Transport& transport, const RunTable& runs,
              const Computing& computing, const AsynchronousRanks& asynchronous, const Waiters& waiters,
              const WorkRecord& record, const ExecutorEvents& events);

  /// Returns true if this rank waits for another's contribution, and not only for a result that an owner makes of them:
  /// a missing contribution shows which rank is late.
  bool lacks_contribution(const GradientRun& run) const;
  /// The messages that have not come or left, and the number of tasks that are not computed.
  std::string of(const GradientRun& run) const;

  /// A step has begun.
  void moved(Clock::time_point now) { stalls_.moved(now); }
  /// Logs a stall when one is to be said.
  void watch(Clock::time_point now);

 private:
  void say_stall(Seconds stalled) const;
  std::string of_tasks(const GradientRun& run) const;

  const ExecutorOptions& options_;
  const Transport& transport_;
  const RunTable& runs_;
  const Computing& computing_;
  const AsynchronousRanks& asynchronous_;
  const Waiters& waiters_;
  const WorkRecord& record_;
  const ExecutorEvents& events_;
  StallWatch stalls_;
};

}  // namespace casync::runtime
