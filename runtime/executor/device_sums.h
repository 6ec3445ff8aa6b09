// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "runtime/device/device.h"

namespace casync::runtime {

/// UntoldSums in a device's memory: its flags are here, and whoever queues kernels asks for the memory. Each rank has a
/// residual to spare, because the host hears behind a batch whether an answer was finite. One thread.
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

  /// The rank needs no sum any more.
  void end(Rank rank) { of(rank).ended = true; }
  bool needs_sum(Rank rank) const { return !of(rank).ended; }
  DeviceView sum(Rank rank) const { return of(rank).sum; }
  /// The sum is none, whatever its memory has.
  bool is_empty(Rank rank) const { return of(rank).empty; }
  /// No contribution has been left out since the last answer.
  bool is_whole(Rank rank) const { return of(rank).whole; }
  DeviceView residual(Rank rank) const { return of(rank).residual; }
  /// The memory of the residual that an answer leaves.
  DeviceView next_residual(Rank rank) const { return of(rank).spare; }

  /// Contributions have been taken: some were added to the sums of all who need one, or some were left out.
  void took(bool added, bool left_out);
  /// An answer to `rank` has been made of its sum, as UntoldSums::answer() makes it.
  void answered(Rank rank, bool finite);

  // Copies that wait, between steps. Unavailable: as Device::read and write.
  /// As UntoldSums.
  Status level(const std::vector<bool>& counts);
  Elements state_floats() const { return elements_ * (residuals_ ? 2 : 1); }
  Status read(float* to) const;
  Status write(const float* from);

 private:
  struct OfRank {
    DeviceView sum, residual, spare;
    bool empty = true, whole = true, ended = false;
  };
  OfRank& of(Rank rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  const OfRank& of(Rank rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
  Status level(DeviceView OfRank::*array, const std::vector<bool>& counts);

  const Elements elements_;
  const bool residuals_;
  Device* device_ = nullptr;
  std::vector<OfRank> ranks_;
};

}  // namespace casync::runtime
