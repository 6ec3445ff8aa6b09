// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "tests/compll/cuda/support/device.h"

namespace casync::compll::test {

/// Memory of kernels that run. Each piece has bytes around it that nobody may write.
class KernelMemory {
 public:
  explicit KernelMemory(KernelDevice& device) : device_(device) {}

  /// Number of launches.
  int launches() const { return launches_; }
  /// Returns true if a kernel wrote where it may not, or left the workspace changed.
  bool wrote_outside() const { return wrote_outside_; }

 protected:
  struct Guarded {
    std::byte* begin = nullptr;
    std::size_t bytes = 0, shift = 0;
  };
  Guarded place(const void* bytes, std::size_t size, std::size_t shift = 0);
  std::vector<std::byte> fetch(const Guarded& memory);
  std::vector<float> fetch_floats(const Guarded& memory);
  const float* place_floats(const std::vector<float>& values, std::size_t shift);
  void start(cuda::Kernel kernel, const cuda::Grid& grid, const cuda::Launch& launch);
  /// Checks that a kernel left zeros where it has to.
  void check_zeros(const Guarded& memory, std::size_t bytes);

  KernelDevice& device_;
  int launches_ = 0;
  bool wrote_outside_ = false;
};

}  // namespace casync::compll::test
