// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/status.h"
#include "base/units.h"
#include "runtime/device/wrapping_device.h"

namespace casync::runtime {

/// A device that gives out at most so many bytes of pinned memory at a time, and is otherwise another device. Pages of
/// the host that are pinned are lost to all other programs, so a session says how many it takes. allocate() answers
/// Unavailable beyond the bound: the bytes asked for, those given out and the bound.
class PinnedBound : public WrappingDevice {
 public:
  using WrappingDevice::WrappingDevice;
  /// Bytes that are given out. Any thread.
  virtual Bytes pinned() const = 0;
  /// The bound, in bytes.
  virtual Bytes most_pinned() const = 0;
};

/// `device` with a bound of `most` bytes.
std::unique_ptr<PinnedBound> bound_pinned(std::unique_ptr<Device> device, Bytes most);

}  // namespace casync::runtime
