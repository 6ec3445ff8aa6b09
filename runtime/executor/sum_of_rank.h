// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device/device_memory.h"

namespace casync::runtime {

/// The sum of what one of several asynchronous ranks has not been told, in a device's memory, and the residual of the
/// answers to it. There is a residual to spare, because the host hears after a batch whether an answer was finite.
class SumOfRank {
 public:
  /// Gives it this memory, once. Residuals: null if the codec of answers keeps none.
  void lie_at(DeviceView sum, DeviceView residual, DeviceView spare);

  DeviceView memory() const { return memory_; }
  DeviceView residual() const { return residual_; }
  /// The memory of the residual that an answer leaves.
  DeviceView next_residual() const { return spare_; }
  /// The sum is none, whatever its memory has.
  bool is_empty() const { return empty_; }
  /// No contribution has been left out since the last answer.
  bool is_whole() const { return whole_; }
  bool is_needed() const { return !ended_; }

  /// The rank needs no sum any more.
  void end() { ended_ = true; }
  /// Contributions have been taken: some were added to the sums that are needed, or some were left out.
  void took(bool added, bool left_out);
  /// An answer has been made of it, as UntoldSums::answer() makes it.
  void answered(bool finite);
  /// Begins anew, with what its memory has or without a sum.
  void begin(bool empty);

 private:
  DeviceView memory_, residual_, spare_;
  bool empty_ = true, whole_ = true, ended_ = false;
};

}  // namespace casync::runtime
