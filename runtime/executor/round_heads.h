// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "base/view.h"
#include "runtime/collective/round_transport.h"
#include "runtime/device/device_memory.h"
#include "runtime/device/stream.h"
#include "runtime/executor/gradient_run.h"

namespace casync::runtime {

/// The heads of a bucket's payloads, which say if their elements are finite. Payloads never come to the host: each one
/// that a rank makes leaves its head in a slot on the device, and agree() finds the largest of each byte over all
/// ranks. The bit of a gradient that is not finite is the same everywhere then.
///
/// Slots are the same on all ranks: one for each partition and hop of a gradient, or for each of its all-reduces, and
/// one for its result, in which kernels say if half precision has made it infinite.
///
/// Threads: the progress thread. Errors: as Stream and RoundTransport.
class RoundHeads {
 public:
  /// `all_reduced`: by gradient.
  RoundHeads(std::span<GradientRun* const> runs, const std::vector<bool>& all_reduced);

  /// Reserves the slot of a payload that a task of this rank makes. False: it has none, or another task has it.
  bool reserve(std::uint32_t gradient, const Buffer& made);

  Bytes bytes() const;
  /// Gives them bytes() of the device, and as many of pinned memory, which stay their own.
  void place(DeviceView memory, View pinned);

  /// The slot of a payload, and of the sum of an all-reduce.
  DeviceView of_payload(std::uint32_t gradient, const Buffer& made) const;
  DeviceView of_sum(std::uint32_t gradient, std::uint32_t exchange) const { return slot(first_[gradient] + exchange); }
  /// The word of a result, as KernelCall::not_finite.
  DeviceView of_result(std::uint32_t gradient) const;

  /// Queues a step's beginning: nothing is said.
  Status clear(Stream& stream) const { return stream.fill(slots(), std::byte{0}); }
  Status agree(RoundTransport& transport) const { return transport.all_reduce(slots(), Reduction::kMostOfBytes); }
  /// Queues that the host gets them.
  Status download(Stream& stream) const { return stream.download(slots(), pinned_.slice(0, slots().size())); }
  /// Once they are there: false if any rank says that the gradient is not finite.
  bool say_finite(std::uint32_t gradient) const;

 private:
  DeviceView slot(std::size_t at) const;
  DeviceView slots() const;
  std::size_t result_slot(std::uint32_t gradient) const { return first_.back() + gradient; }

  std::vector<std::size_t> first_;  ///< by gradient; one more: all slots of payloads and sums
  std::vector<bool> is_reserved_;   ///< by slot
  DeviceView memory_;
  View pinned_;
};

}  // namespace casync::runtime
