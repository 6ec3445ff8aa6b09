// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/thread.h"
#include "runtime/executor/failures.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/executor/progress_parts.h"
#include "runtime/executor/requests.h"
#include "runtime/executor/waiters.h"
#include "runtime/executor/work_record.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// The progress thread: rounds of requests, messages and tasks, sleep when there is nothing to do, and an orderly end.
/// Functions are called by threads of the program, unless a comment says otherwise.
class ProgressLoop {
 public:
  /// Borrows all of these.
  ProgressLoop(Transport& transport, Requests& requests, Waiters& waiters, Failures& failures, WorkRecord& record,
               ProgressParts& parts);

  /// Starts the thread. Unavailable: none left.
  Status start();
  /// As Executor::take_in. The progress thread's.
  Status take_in(std::vector<std::unique_ptr<GradientRun>> gradients);
  /// Says when nobody needs this rank any more (Waiters::settle). The progress thread's.
  void begin_settling();
  /// As Executor::stop, but for the streams.
  bool stop(Clock::time_point deadline, Clock::time_point patience);
  /// Processor seconds of the thread. Not after stop().
  double processor_seconds() const { return clock_->seconds(); }

 private:
  // The thread's.
  void run();
  bool round();
  bool take_requests();
  void check_settled();
  void announce();
  TransportStats stats() const;
  void sleep();
  void shut_down();
  void answer_the_last();

  Transport& transport_;
  Requests& requests_;
  Waiters& waiters_;
  Failures& failures_;
  WorkRecord& record_;
  ProgressParts& parts_;
  std::vector<GradientStart> starting_;  ///< the thread's; keeps its memory
  bool settling_ = false;                ///< the thread's
  std::atomic<bool> stopping_{false};
  Clock::time_point stop_deadline_;  ///< written ahead of stopping_
  std::thread thread_;
  std::optional<ThreadClock> clock_;  ///< of thread_
};

}  // namespace casync::runtime
