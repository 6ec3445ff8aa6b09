// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "runtime/device/device.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/executor/kernel_table.h"
#include "runtime/executor/lane_room.h"

namespace casync::runtime {

/// The lists of the tasks under way.
struct LaneLists {
  std::vector<KernelTerm> terms;
  std::vector<KernelCall> calls;
  std::vector<DeviceView> payloads, sums;
};

/// A task under way on a lane.
struct LaneTask {
  GradientRun* run = nullptr;
  TaskId task{};
};

/// A stream and the memory of one task at a time, or of several that share a batch of kernels.
struct DeviceLane {
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Event> end;
  std::unique_ptr<DeviceBuffer> memory, pinned;  ///< a LaneRoom's device_bytes() and pinned_bytes()
  LaneLists lists;
  std::vector<LaneTask> tasks;
  Clock::time_point from;
  DeviceView kept;        ///< a copy of a residual in one buffer, from before the task
  bool put_back = false;  ///< residuals of codes that are not finite have been restored, if any had to be
  std::size_t ended = 0;  ///< the number of tasks whose end was told
  Status outcome;         ///< of all of them; once one was told

  /// The words of a task. `room`: the lane's.
  LaneOutcome& outcome_of(const LaneRoom& room, std::size_t task) const {
    const View place = pinned->view().slice(room.outcome_at(task), sizeof(LaneOutcome));
    return *reinterpret_cast<LaneOutcome*>(place.data);
  }
};

/// The part that all tasks on lanes have in common.
struct LaneTasks {
  const KernelTable& kernels;
  std::uint64_t seed = 0;
  float scale = 1;  ///< of the last merge
};

/// The room that a task takes; `task`: a turn's number if the gradient's codec exchanges within a step. Between steps.
/// Unavailable: as CodecKernels::room().
Result<LaneRoom> room_of(const LaneTasks& tasks, GradientRun& run, std::uint32_t task);

/// Queues the lane's tasks, whose buffers have their memory: one, or several of one BatchKind (batch_lane.h). `room`:
/// the lane's. Allocates nothing and waits for nothing. Unavailable: as Stream. DataLoss: a payload that arrived is
/// none of its codec.
Status queue_tasks(const LaneTasks& tasks, const LaneRoom& room, DeviceLane& lane);

}  // namespace casync::runtime
