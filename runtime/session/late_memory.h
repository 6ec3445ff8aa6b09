// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "runtime/device/device.h"
#include "runtime/session/session.h"

namespace casync::runtime {

/// Streams of a device for all gradients whose results come late.
struct LateStreams {
  std::unique_ptr<Stream> copies;
  std::unique_ptr<Stream> idle;  ///< of memory that nobody writes
};

/// Memory for one gradient's results that come late: a number of slots, each as large as the gradient, on the host or
/// on a device.
///
/// Threads: one at a time. Errors: Unavailable, as Stream and Device; on the host none.
class LateMemory {
 public:
  virtual ~LateMemory() = default;

  /// Takes a submission's memory, which holds a gradient and is to hold a result.
  virtual Status take(const Submission& submission) = 0;
  /// Begins to exchange what that memory and a slot hold.
  virtual Status exchange(std::size_t slot) = 0;
  /// Returns true if no exchange is under way.
  virtual Result<bool> is_exchanged() const = 0;
  /// The submission of what a slot holds, to the session that reduces it, while no exchange is under way.
  virtual Submission submission(GradientId id, std::size_t slot) = 0;

  /// Copies a slot, while nothing is under way.
  virtual Status read(std::size_t slot, std::vector<std::byte>* to) const = 0;
  virtual Status write(std::size_t slot, const std::vector<std::byte>& from) = 0;
};

/// Slots of `bytes` bytes, which are zeros. Unavailable: no memory.
Result<std::unique_ptr<LateMemory>> make_late_memory(Device& device, LateStreams& streams, std::size_t slots,
                                                     Bytes bytes);

}  // namespace casync::runtime
