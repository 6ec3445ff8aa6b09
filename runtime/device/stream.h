// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "base/view.h"
#include "runtime/device/device_memory.h"

namespace casync::runtime {

/// A point in a stream's work.
///
/// Threads: one at a time.
class Event {
 public:
  virtual ~Event() = default;
  /// False while what was ahead of the last Stream::record() is under way; true at once if there was none. Never waits.
  /// Unavailable: that work failed, or other work of the device since; the call and the device's words for it.
  virtual Result<bool> done() const = 0;
};

/// Work of a device in its order, next to the host: none of these waits for it. Its own, or one that a framework made.
/// Memory that work names stays until a later event is done.
///
/// Threads: one at a time.
/// Errors:  Unavailable: the device refuses, or has failed earlier; the call and the device's words for it. After a
///          failure a device refuses everything.
class Stream {
 public:
  virtual ~Stream() = default;
  /// This stream as the device's runtime has it; of the CPU null.
  virtual void* native() const = 0;
  /// Copies between two views of one size. The host's is pinned memory (Memory::kPinned): with any other a copy may
  /// wait.
  virtual Status upload(ConstView from, DeviceView to) = 0;
  virtual Status download(DeviceView from, View to) = 0;
  virtual Status copy(DeviceView from, DeviceView to) = 0;
  /// Sets each byte.
  virtual Status fill(DeviceView at, std::byte value) = 0;
  /// Makes what is queued from here on begin after the event's last record().
  virtual Status wait_for(const Event& event) = 0;
  /// Makes the event done once all work that is queued so far is.
  virtual Status record(Event& event) = 0;
  /// Calls `ring(bell)` after what is queued, on a thread of the device's, which lets it neither wait nor call the
  /// device. After a failure of the device the call may never come.
  virtual Status call(void (*ring)(void* bell), void* bell) = 0;
};

}  // namespace casync::runtime
