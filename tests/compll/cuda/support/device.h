// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "compll/ops/cuda/launch.h"

namespace casync::compll::test {

/// A device that runs kernels: a GPU, or this host that emulates one.
class KernelDevice {
 public:
  virtual ~KernelDevice() = default;

  /// Memory from a multiple of 256 bytes on, until `reset`.
  virtual std::byte* allocate(std::size_t bytes) = 0;
  virtual void reset() = 0;
  virtual void upload(std::byte* to, const void* from, std::size_t bytes) = 0;
  virtual void download(void* to, const std::byte* from, std::size_t bytes) = 0;
  virtual void fill(std::byte* at, unsigned char value, std::size_t bytes) = 0;
  /// Number of thread blocks worth starting if blocks take their work as it comes.
  virtual std::uint32_t blocks_at_once(cuda::Kernel kernel) = 0;
  virtual void launch(cuda::Kernel kernel, const cuda::Grid& grid, const cuda::Launch& launch) = 0;
  /// Tells it from other devices in a message. Empty: there are no others.
  virtual std::string title() const { return ""; }
};

}  // namespace casync::compll::test
