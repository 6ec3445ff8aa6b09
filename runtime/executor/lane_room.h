// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "base/units.h"
#include "runtime/device/codec_kernels.h"

namespace casync::runtime {

/// The words that the kernels of a task set, in pinned memory.
struct LaneOutcome {
  KernelOutcome coding;
  KernelWord not_finite = 0;  ///< as KernelCall::not_finite
};

/// The sizes of a lane's memory.
struct LaneRoom {
  static constexpr Bytes kAlignment = 256;
  /// A merge into another codec decodes, widens a residual, encodes and rounds the new one, and a turn widens the
  /// gradient, scales sums of whole numbers, and rounds what it makes: no task has more batches of calls.
  static constexpr std::size_t kMostCalls = 4;

  Bytes vectors = 0;                 ///< what tasks read and make on the device
  Bytes kernels = 0;                 ///< what one call takes there
  Bytes pinned = 0;                  ///< and what it is filled from
  Bytes plain = 0;                   ///< payloads that the host still has to work on, in pinned memory
  std::size_t terms = 0, calls = 0;  ///< the most in LaneLists
  std::size_t launched = 0;          ///< batches of calls that the task launches

  void cover(const LaneRoom& other);
  /// Makes it the room of this and the other at once, their calls in one batch.
  void add(const LaneRoom& other);
  bool covers(const LaneRoom& other) const;
  /// Pinned memory has the head of an identity's payload, what each call is filled from, an outcome for each task, then
  /// payloads.
  Bytes call_at(std::size_t call) const { return kAlignment + call * pinned; }
  Bytes outcome_at(std::size_t task) const { return call_at(kMostCalls) + task * sizeof(LaneOutcome); }
  Bytes plain_at() const { return round_up(outcome_at(calls), kAlignment); }
  Bytes device_bytes() const { return vectors + kernels; }
  Bytes pinned_bytes() const { return plain_at() + plain; }
};

}  // namespace casync::runtime
