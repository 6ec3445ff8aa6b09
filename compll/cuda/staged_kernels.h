// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "compll/cuda/codec_kernels.h"

namespace casync::compll {

/// The part that all staged kernels share: the sizes that a kernel computes, and launches by tickets. Used by one
/// thread at a time.
class StagedKernels {
 public:
  StagedKernels(CudaDevice& device, const cuda::Settings& settings) : device_(device), settings_(settings) {}
  ~StagedKernels() { device_.free(told_); }
  StagedKernels(const StagedKernels&) = delete;
  StagedKernels& operator=(const StagedKernels&) = delete;

  /// Finds kernels by their functions' names.
  Status find(const CudaModules& modules, const std::string& codec);
  Status find(const CudaModules& modules, const std::string& codec, const std::string& function,
              DriverApi::Handle& kernel);

  const cuda::Sizes& sizes(const cuda::Matrix& n) const;

  /// The size of tiles: the program's own, or a larger one for long vectors (cuda::whole_tile_of).
  enum class Tiles { kAsSaid, kByLength };

  /// Returns a launch of `kernel`, which has index `function` in Sizes. The caller sets all of `segment` but its
  /// `memory`.
  ReadyLaunch launch(DriverApi::Handle kernel, std::size_t function, const cuda::Matrix& n, Tiles how_large,
                     cuda::Segment segment, const EncodeContext& context, LaunchMemory& memory) const;

 private:
  CudaDevice& device_;
  cuda::Settings settings_;
  DriverApi::Handle sizes_kernel_ = nullptr;
  std::byte* told_ = nullptr;  ///< memory of one Sizes on the device
  mutable std::map<std::pair<std::uint64_t, std::uint64_t>, cuda::Sizes> known_;
  mutable std::map<DriverApi::Handle, std::uint32_t> blocks_at_once_;
};

}  // namespace casync::compll
