// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "base/units.h"
#include "base/view.h"
#include "runtime/device/codec_kernels.h"
#include "runtime/device/device_memory.h"

namespace casync::runtime {

/// Memory of a bucket is divided at multiples of this.
inline constexpr Bytes kRoundAlignment = 256;

/// Memory whose place is not known yet: an address that is not null, and that nobody touches.
inline DeviceView without_place(Bytes bytes) { return {kRoundAlignment, bytes}; }

/// The memory that a bucket's tasks take besides payloads. Tasks follow each other in one stream: vectors are memory of
/// one task at a time, and the room of a kernel that of one call. What calls are filled from is their own for the step.
///
/// Ahead of place(), one pass over all tasks finds out how much they take. A step goes through the same tasks in the
/// same order.
///
/// Threads: the progress thread.
class RoundRoom {
 public:
  /// The memory of one call.
  struct Call {
    DeviceView device;
    View pinned;
  };

  /// A call takes so much. Ahead of place().
  void add_call(const KernelRoom& room);
  Bytes device_bytes() const { return most_vectors_ + most_call_; }
  Bytes pinned_bytes() const { return pinned_bytes_; }
  /// Gives it device_bytes() and pinned_bytes(), which stay its own.
  void place(DeviceView device, View pinned);

  /// The calls of another step begin.
  void begin_step();
  /// The vectors of the last task are not needed any more.
  void begin_task() { vectors_ = 0; }
  /// Memory until the task has ended.
  DeviceView take_vector(Bytes bytes);
  /// The memory of the step's next call. After place().
  Call next_call();

 private:
  Bytes most_vectors_ = 0, most_call_ = 0, pinned_bytes_ = 0;
  std::vector<Bytes> pinned_of_;  ///< by call
  bool is_placed_ = false;
  DeviceView device_;  ///< vectors, then the room of a call
  View pinned_;

  // Taken so far.
  Bytes vectors_ = 0;
  Bytes pinned_taken_ = 0;
  std::size_t calls_ = 0;
};

}  // namespace casync::runtime
