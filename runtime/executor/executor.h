// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "casync/model/topology.h"
#include "runtime/device/device.h"
#include "runtime/executor/comparisons.h"
#include "runtime/executor/device_rounds.h"
#include "runtime/executor/executor_options.h"
#include "runtime/executor/failures.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/executor/requests.h"
#include "runtime/executor/step_waits.h"
#include "runtime/executor/waiters.h"
#include "runtime/executor/work_record.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

class ProgressLoop;
struct ProgressParts;

/// Carries out task graphs: this rank's, over one transport, on one device.
///
/// One progress thread (ProgressLoop) owns the progress of graphs, the arena, the links and the transport
/// (ProgressParts). Other threads post to it, and wait for no longer than one push under a mutex. On each resource (a
/// peer's link, the streams, the progress thread itself) the most urgent ready task goes first: by priority, then the
/// one further along its way, then the one that became ready first. A task or message that has begun is not called
/// back.
///
/// The first failure ends everything: streams come to rest and the transport is closed, so that nothing writes to a
/// caller's memory any more; then the waiters learn the cause. Closing ends it in the same order.
class Executor {
 public:
  Executor(const ExecutorOptions& options, std::unique_ptr<Transport> transport, Device& device);
  ~Executor();  ///< as stop() at once; waits for tasks without a limit
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  std::string address() const { return transport_->address(); }
  /// Gradients go through rounds over the transport that `open` returns, and not over this executor's, which keeps the
  /// messages with names. On another device, ahead of connect(). `bucket_bytes`: as DeviceRounds. Errors:
  /// those of `open`; Unavailable: the device refuses.
  Status open_rounds(Bytes bucket_bytes, const DeviceRounds::Open& open);
  /// Messages go by a credit of so many bytes for each port (LinkCredit) instead of by LinkPace. Called ahead of
  /// connect(), on all ranks, and not with a coordinator.
  void set_credit(Bytes bytes, const Topology& topology);
  /// Connects and starts the threads. Unavailable: no thread left; else as Transport::connect.
  Status connect(std::span<const std::string> addresses, ExecutorEvents events);

  /// Takes gradients in: memory for their messages, room in the queues. Unavailable: no memory. After a failure or
  /// stop(): that failure. The progress thread's.
  Status take_in(std::vector<std::unique_ptr<GradientRun>> runs);
  /// Runs `call` on the progress thread, soon; never after a failure or stop(). An exception in it ends everything. Any
  /// thread.
  void call(std::function<void()> call);

  /// Begins steps of gradients that are not under way.
  Requests& requests() { return requests_; }
  /// Waits for them.
  StepWaits& waits() { return waits_; }
  /// Compares steps.
  Comparisons& comparisons();
  /// Ends everything with a failure.
  Failures& failures() { return failures_; }

  /// A peer said goodbye. What it has completed still arrives, however slowly. A gradient that it has not completed is
  /// a failure at once, when it is under way or begins: leaver.why, and the gradient's name. Any thread.
  void peer_left(Leaver leaver);

  /// Waits until everything that was sent has arrived: nobody needs this rank any more. While nothing is under way;
  /// nothing may be submitted afterwards. Timeout: not by the deadline. After a failure: that failure. Any thread.
  Status settle(Clock::time_point deadline);

  /// Ends the steps of an asynchronous rank, so many; it answers the others until all have ended theirs.
  /// Timeout: nothing came for `patience`, with the ranks that have not. After a failure: that failure. Any thread,
  /// while nothing is under way; nothing may be submitted afterwards.
  Status serve_others(std::uint32_t steps, Seconds patience);

  /// Closes the transport by the deadline and ends the threads. Returns false if a task has not ended by `patience`:
  /// the threads still use this executor, its device and timeline, and callers' memory, and none of these may be
  /// destroyed until another stop() has returned true. The events are not called any more. Not from two threads at
  /// once.
  bool stop(Clock::time_point deadline, Clock::time_point patience);
  /// After stop(): returns true if the network or a device may still write. Any thread.
  bool holds_memory() const { return waiters_.holds_memory(); }

  const ExecutorCounters& counters() const { return record_.counters(); }
  TransportStats transport_stats() const { return waiters_.stats(); }
  /// Processor seconds of the progress thread and the streams so far; only differences count. Not after stop().
  double processor_seconds() const;
  const std::string& transport_description() const { return description_; }

 private:
  const ExecutorOptions options_;
  const std::unique_ptr<Transport> transport_;
  ExecutorEvents events_;
  std::string description_;  ///< of the transport, which may be closed when somebody asks
  Waiters waiters_;
  Requests requests_;
  Failures failures_;
  WorkRecord record_;
  const std::unique_ptr<ProgressParts> parts_;
  const std::unique_ptr<ProgressLoop> loop_;
  StepWaits waits_;
};

}  // namespace casync::runtime
