// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "runtime/device/codec_kernels.h"
#include "runtime/device/device_memory.h"
#include "runtime/executor/gradient_run.h"

namespace casync::runtime {

/// The payloads of a bucket's gradients in the device's memory: each buffer of a graph has a place of its own, the same
/// in each step. Until place() their sizes are known, and not their addresses.
///
/// Threads: the progress thread.
class RoundPayloads {
 public:
  /// `all_reduced`: by gradient; those have no payloads.
  RoundPayloads(std::span<GradientRun* const> runs, const std::vector<bool>& all_reduced);

  Bytes bytes() const { return bytes_; }
  /// Gives them bytes(), which stay their own.
  void place(DeviceView memory);

  /// A buffer's payload as kernels have it, and as it travels: without the head of an identity's.
  DeviceView payload(std::uint32_t gradient, BufferId buffer) const;
  DeviceView message(std::uint32_t gradient, BufferId buffer) const;
  /// A payload as a term of a sum. An identity's is raw elements, of float32.
  KernelTerm term(std::uint32_t gradient, BufferId buffer) const;

 private:
  struct Place {
    Bytes first = 0, size = 0;
    Bytes head = 0;  ///< of them, those of an identity's head
  };
  const Place& place_of(std::uint32_t gradient, BufferId buffer) const {
    return places_[gradient][TaskGraph::index(buffer)];
  }

  std::vector<std::vector<Place>> places_;  ///< by gradient and buffer
  Bytes bytes_ = 0;
  bool is_placed_ = false;
  DeviceView memory_;
};

}  // namespace casync::runtime
