// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "runtime/device/device.h"
#include "runtime/executor/sum_of_rank.h"

namespace casync::runtime {

/// UntoldSums in a device's memory. The flags are here; code that queues kernels asks for the memory (SumOfRank). One
/// thread.
class DeviceSums {
 public:
  /// As UntoldSums.
  DeviceSums(int ranks, Elements elements, bool residuals);

  /// The floats that this takes: sums, and two residuals of each rank.
  Elements floats() const { return elements_ * ranks_.size() * (residuals_ ? 3 : 1); }
  /// Gives it this memory of the device, once. Unavailable: as Device::write.
  Status lie_at(DeviceView memory, Device& device);
  Elements elements() const { return elements_; }
  bool has_residuals() const { return residuals_; }
  int ranks() const { return static_cast<int>(ranks_.size()); }

  SumOfRank& of(Rank rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  const SumOfRank& of(Rank rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
  /// As each SumOfRank's.
  void took(bool added, bool left_out);

  // Copies that wait, between steps. Unavailable: as Device::read and write.
  /// As UntoldSums.
  Status level(const std::vector<bool>& counts);
  Status read(float* to) const;
  Status write(const float* from);

 private:
  using Memory = DeviceView (SumOfRank::*)() const;
  Status level(Memory array, const std::vector<bool>& counts);

  const Elements elements_;
  const bool residuals_;
  Device* device_ = nullptr;
  std::vector<SumOfRank> ranks_;
};

}  // namespace casync::runtime
