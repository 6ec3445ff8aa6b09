// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/status.h"
#include "runtime/executor/device_lane.h"

namespace casync::runtime {

/// Tasks of equal kind, of several gradients, share one batch of kernels: as many launches as one of them has.
struct BatchKind {
  const CodecKernels* kernels = nullptr;  ///< null: the task runs alone
  KernelFunction function{};
  std::uint32_t step = 0;
  bool keeps = false;      ///< the codec's states of the slice
  std::uint64_t seed = 0;  ///< of its random numbers: merges on the way to the owner draw others than the owner's

  bool operator==(const BatchKind&) const = default;
};

/// The kind of a task, whose gradient knows its rooms (RunOnDevice::set_rooms). Alone: bundles, turns, tasks of owners'
/// sides, payloads as they are, and tasks of more than one batch.
BatchKind batch_kind_of(const LaneTasks& tasks, const GradientRun& run, TaskId task);

/// Queues the lane's tasks, which are of one kind. `room` covers the rooms of all of them together. Otherwise as
/// queue_tasks().
Status queue_batch(const LaneTasks& tasks, const LaneRoom& room, DeviceLane& lane);

}  // namespace casync::runtime
