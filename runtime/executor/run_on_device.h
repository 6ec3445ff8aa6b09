// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "casync/graph/task_graph.h"
#include "runtime/device/device.h"
#include "runtime/executor/lane_room.h"

namespace casync::runtime {

/// The elements of a gradient in a device's memory in the step under way, and the room that its tasks take there.
///
/// Threads: the progress thread's.
class RunOnDevice {
 public:
  /// `element`: the bytes of one.
  explicit RunOnDevice(Bytes element) : element_(element) {}
  RunOnDevice(const RunOnDevice&) = delete;
  RunOnDevice& operator=(const RunOnDevice&) = delete;

  /// A step over `data` begins. `ready`: the event after which the program has written it; null: it has.
  void begin(DeviceView data, const Event* ready) {
    data_ = data;
    ready_ = ready;
  }
  DeviceView data() const { return data_; }
  const Event* ready() const { return ready_; }
  /// The elements of `slice`.
  DeviceView memory(Slice slice) const { return data_.slice(slice.first * element_, slice.count * element_); }

  /// By task, or by turn where the codec exchanges within a step.
  void set_rooms(std::vector<LaneRoom> rooms) { rooms_ = std::move(rooms); }
  const LaneRoom& room_of(TaskId task) const { return rooms_[TaskGraph::index(task)]; }

 private:
  const Bytes element_;
  DeviceView data_;
  const Event* ready_ = nullptr;
  std::vector<LaneRoom> rooms_;
};

}  // namespace casync::runtime
