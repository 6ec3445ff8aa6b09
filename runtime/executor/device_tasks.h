// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "runtime/device/device.h"
#include "runtime/executor/batch_lane.h"
#include "runtime/executor/bell.h"
#include "runtime/executor/device_lane.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/executor/kernel_table.h"
#include "runtime/executor/task_runner.h"

namespace casync::runtime {

/// Runs the encodes, merges and decodes of gradients that lie in a device's memory, and the turns of codecs that
/// exchange within a step.
///
/// Payloads are in pinned memory, where messages leave from and arrive. Each task has a lane while it runs: a stream,
/// and memory of the device for what it reads and makes. An encode waits for the gradient's event, runs kernels and
/// copies its payload out; a merge or a decode copies payloads in first. Payloads with coded sections are written to
/// pinned memory by kernels, which tell their size, and are checked by those that read them (KernelOutcome). An event
/// ends each task, and is polled. All memory is taken by take_in(): a step neither allocates nor waits.
///
/// Threads: the progress thread. Errors: Unavailable, with the call and the device's words; from then on the device
///          answers nothing else.
class DeviceTasks {
 public:
  struct Settings {
    std::uint64_t seed = 0;
    float scale = 1;  ///< of the last merge
    int ranks = 1;
  };
  /// A task whose work on the device is over. Its buffers' payloads are in their memory.
  struct Ended {
    GradientRun* run = nullptr;
    TaskId task{};
    TaskOutcome outcome;
    Clock::time_point from;
    std::uint32_t lane = 0;
  };

  DeviceTasks(Device& device, const Settings& settings, Transport& transport);
  ~DeviceTasks();  ///< after come_to_rest()
  DeviceTasks(const DeviceTasks&) = delete;
  DeviceTasks& operator=(const DeviceTasks&) = delete;

  /// Streams and events. Unavailable.
  Status open();
  /// Takes in gradients: their kernels, and room for the largest of their tasks. Where that is more than lanes have,
  /// `rest` is called first, and leaves nothing under way, or fails. Unimplemented: a codec has no kernels.
  /// Unavailable: no memory. Others as `rest`.
  Status take_in(std::span<GradientRun* const> runs, const std::function<Status()>& rest);

  bool has_room() const { return !free_.empty(); }
  /// Adds a task, whose buffers have their memory, to those that begin() queues: while there is room, the first one, or
  /// one that joins().
  void add(GradientRun& run, TaskId task);
  /// Returns true if a task can share kernels with those added: they are of one kind, lie in a lane's memory together,
  /// and none of them has to wait for the gradient of another.
  bool joins(const GradientRun& run, TaskId task) const;
  /// Queues the tasks added.
  Status begin();
  /// A task that has ended since; nothing: none has. A failure of the device ends every task with it.
  std::optional<Ended> take_ended();
  /// The number of lanes whose tasks are under way.
  std::size_t under_way() const { return lanes_.size() - free_.size(); }

  /// After a failure or at the end: forgets tasks as they end. Returns false if some are still under way at the
  /// deadline; then the lanes' memory is kept for ever, because the device may still write to it.
  bool come_to_rest(Clock::time_point deadline);

 private:
  Status make_room(const LaneRoom& room);
  Status record_end(DeviceLane& lane);
  Result<bool> put_back_kept(DeviceLane& lane);
  Status failure_of(const DeviceLane& lane, const Status& status) const;
  /// The outcome of the lane's task of this number.
  TaskOutcome outcome_of(DeviceLane& lane, std::size_t at) const;
  static Status fault_of(GradientRun& run, const Primitive& primitive);

  Device& device_;
  const Settings settings_;
  std::shared_ptr<Bell> bell_;
  KernelTable kernels_;
  const LaneTasks tasks_;
  std::vector<std::unique_ptr<DeviceLane>> lanes_;
  std::vector<std::uint32_t> free_, taken_;  ///< indices of lanes; taken ones as they began
  LaneRoom room_;                            ///< of each lane
  LaneRoom together_;                        ///< of all tasks that may share kernels
  struct {
    BatchKind kind;
    LaneRoom room;
    const Event* ready = nullptr;  ///< not null: the event that all wait for, which is not over
  } added_;                        ///< the tasks of the lane that begin() takes
  bool failed_ = false;            ///< the device has: it may ring no more
};

}  // namespace casync::runtime
