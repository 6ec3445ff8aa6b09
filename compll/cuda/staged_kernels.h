// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "compll/cuda/codec_kernels.h"

namespace casync::compll {

/// What kernels that work in stages share: the sizes that one of them tells, and launches by tickets. For one thread at
/// a time.
class StagedKernels {
 public:
  StagedKernels(CudaDevice& device, const cuda::Settings& settings) : device_(device), settings_(settings) {}
  ~StagedKernels() { device_.free(told_); }
  StagedKernels(const StagedKernels&) = delete;
  StagedKernels& operator=(const StagedKernels&) = delete;

  /// Kernels are found by their function's name.
  Status find(const CudaModules& modules, const std::string& codec);
  Status find(const CudaModules& modules, const std::string& codec, const std::string& function,
              DriverApi::Handle& kernel);

  const cuda::Sizes& sizes(const cuda::Matrix& n) const;

  /// How large tiles are: as the program says, or larger ones of long vectors (cuda::whole_tile_of).
  enum class Tiles { kAsSaid, kByLength };

  /// A launch of `kernel`, which is the function of this number in Sizes. `segment` has everything but memory of its
  /// own.
  ReadyLaunch launch(DriverApi::Handle kernel, std::size_t function, const cuda::Matrix& n, Tiles how_large,
                     cuda::Segment segment, const EncodeContext& context, LaunchMemory& memory) const;

 private:
  CudaDevice& device_;
  cuda::Settings settings_;
  DriverApi::Handle sizes_kernel_ = nullptr;
  std::byte* told_ = nullptr;  ///< a Sizes in the device's memory
  mutable std::map<std::pair<std::uint64_t, std::uint64_t>, cuda::Sizes> known_;
  mutable std::map<DriverApi::Handle, std::uint32_t> blocks_at_once_;
};

}  // namespace casync::compll
