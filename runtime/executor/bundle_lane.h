// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "runtime/executor/device_lane.h"
#include "runtime/executor/task_runner.h"

namespace casync::runtime {

/// As room_of() and queue_tasks(), of a bundle: each function of a codec is one batch for all its members, and payloads
/// are copied as one.
Result<LaneRoom> room_of_bundle(const LaneTasks& tasks, GradientRun& bundle, TaskId task);
Status queue_bundle_task(const LaneTasks& tasks, const LaneRoom& room, DeviceLane& lane);

/// The outcome of a bundle's task whose event is over. Completes the payload that it has made: its head, the zeros
/// between parts, and the bits of finite parts.
TaskOutcome end_bundle_task(const LaneRoom& room, DeviceLane& lane);

}  // namespace casync::runtime
