// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "base/status.h"
#include "runtime/device/device.h"
#include "runtime/executor/device_rounds.h"
#include "runtime/executor/device_tasks.h"
#include "runtime/executor/executor_options.h"
#include "runtime/executor/failures.h"
#include "runtime/executor/gradient_steps.h"
#include "runtime/executor/ready_tasks.h"
#include "runtime/executor/streams.h"
#include "runtime/executor/work_record.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// Computes tasks: on the progress thread and on streams; or on a device, as single tasks or as whole gradients that go
/// through rounds. The progress thread's, unless a comment says otherwise.
class Computing {
 public:
  /// Borrows all of these.
  Computing(const ExecutorOptions& options, Device& device, Transport& transport, ReadyTasks& ready,
            GradientSteps& steps, Failures& failures, WorkRecord& record);

  /// As Executor::open_rounds. Called ahead of open().
  Status open_rounds(Bytes bucket_bytes, const DeviceRounds::Open& open);
  /// Starts streams, or opens a device. Unavailable: no thread left; the device refuses.
  Status open();
  /// Null: gradients do not go through rounds.
  DeviceRounds* rounds() const { return rounds_.get(); }
  /// Returns true if a device runs single tasks.
  bool is_on_device() const { return device_tasks_ != nullptr; }

  /// Makes room for all tasks of these runs. Errors: as DeviceRounds::take_in and DeviceTasks::take_in.
  Status take_in(std::span<GradientRun* const> runs);
  /// Runs ready tasks for a while, or begins them. Returns false if there was nothing to do.
  bool run_ready();
  /// Goes on with the tasks that have ended. Returns false if there was none.
  bool take_ended();
  /// When there may be more to do, without a word of it; `latest` at the latest.
  Clock::time_point due(Clock::time_point now, Clock::time_point latest) const;

  /// Waits for the tasks under way, and forgets them. Returns false if a device has not ended its own in time: it may
  /// still write to the memory of gradients and messages.
  bool come_to_rest();
  /// Ends the rounds. `in_order`: nothing has failed, and ranks leave together, by the deadline. With rounds under way
  /// it is the end of a program that did not wait for them. Returns false as come_to_rest().
  bool end_rounds(bool in_order, Clock::time_point deadline);
  /// Ends the streams, which are at rest. The thread that has joined the progress thread.
  void close() { streams_.close(); }
  /// Processor seconds of the streams. Any thread; not after close().
  double processor_seconds() const { return streams_.processor_seconds(); }

 private:
  TaskOutcome compute(GradientRun& run, TaskId task, Scratch& scratch);
  bool run_on_host();
  bool run_rounds();
  bool begin_on_device();
  bool begin_on_stream(const ReadyTask& ready);
  bool take_ended_on_device();

  const ExecutorOptions& options_;
  Device& device_;
  Transport& transport_;
  ReadyTasks& ready_;
  GradientSteps& steps_;
  Failures& failures_;
  WorkRecord& record_;
  Scratch scratch_;
  std::unique_ptr<DeviceTasks> device_tasks_;  ///< null on the host
  std::unique_ptr<DeviceRounds> rounds_;       ///< not null: instead of device_tasks_
  Streams streams_;
};

}  // namespace casync::runtime
