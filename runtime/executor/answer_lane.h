// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "runtime/executor/device_lane.h"
#include "runtime/executor/task_runner.h"

namespace casync::runtime {

// Tasks of an owner's side on lanes (DeviceAnswers), each alone on its lane.

/// As room_of().
Result<LaneRoom> room_of_answer_task(const LaneTasks& tasks, GradientRun& side, TaskId task);

/// As queue_tasks().
Status queue_answer_task(const LaneTasks& tasks, const LaneRoom& room, DeviceLane& lane);

/// The outcome of the lane's task, whose work is over; of one that takes contributions the sums hear of it. `room`: the
/// lane's.
TaskOutcome end_answer_task(const LaneRoom& room, DeviceLane& lane);

}  // namespace casync::runtime
