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
#include "runtime/executor/stream_coder.h"

namespace casync::runtime {

/// The sizes of a lane's memory.
struct LaneRoom {
  static constexpr Bytes kAlignment = 256;
  /// A merge into another codec decodes, widens a residual, encodes and rounds the new one: no task has more batches of
  /// calls.
  static constexpr std::size_t kMostCalls = 4;

  Bytes vectors = 0;                 ///< what tasks read and make on the device
  Bytes kernels = 0;                 ///< what one call takes there
  Bytes pinned = 0;                  ///< and what it is filled from
  Bytes plain = 0;                   ///< payloads that the host still has to work on, in pinned memory
  std::size_t terms = 0, calls = 0;  ///< the most in LaneLists

  void cover(const LaneRoom& other);
  bool covers(const LaneRoom& other) const;
  /// Pinned memory has the head of an identity's payload, what each call is filled from, then plain payloads.
  Bytes call_at(std::size_t call) const { return kAlignment + call * pinned; }
  Bytes plain_at() const { return call_at(kMostCalls); }
  Bytes device_bytes() const { return vectors + kernels; }
  Bytes pinned_bytes() const { return plain_at() + plain; }
};

/// The lists of the task under way.
struct LaneLists {
  std::vector<KernelTerm> terms;
  std::vector<KernelCall> calls;
  std::vector<DeviceView> payloads, sums;
};

/// A stream and the memory of one task at a time.
struct DeviceLane {
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Event> end;
  std::unique_ptr<DeviceBuffer> memory, pinned;  ///< a LaneRoom's device_bytes() and pinned_bytes()
  std::shared_ptr<StreamCoder> coder = std::make_shared<StreamCoder>();
  LaneLists lists;
  GradientRun* run = nullptr;
  TaskId task{};
  Clock::time_point from;
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

/// Queues the lane's task, whose buffers have their memory. `room`: the lane's. Allocates nothing and waits for
/// nothing. Unavailable: as Stream. DataLoss: a payload that arrived is none of its codec.
Status queue_task(const LaneTasks& tasks, const LaneRoom& room, DeviceLane& lane);

}  // namespace casync::runtime
