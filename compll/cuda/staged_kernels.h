// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

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

  /// Finds kernels by their functions' names, ahead of these the one that computes sizes. Unimplemented: no tile has
  /// whole blocks of all sizes that the settings ask for.
  Status find(const CudaModules& modules, const std::string& codec);
  Status find(const CudaModules& modules, const std::string& codec, const std::string& function,
              DriverApi::Handle& kernel);

  const cuda::Sizes& sizes(const cuda::Matrix& n) const;

  /// The size of tiles: the program's own, or a larger one for long vectors (cuda::vector_form_tile_of).
  enum class Tiles { kAsSaid, kByLength };

  /// Returns a launch of `kernel`, which has index `function` in Sizes. The caller sets all of `segments` but their
  /// `memory`.
  ReadyLaunch launch(DriverApi::Handle kernel, std::size_t function, Tiles how_large,
                     std::span<const cuda::Segment> segments, const EncodeContext& context, LaunchMemory& memory) const;

 private:
  void give_memory(std::size_t function, LaunchMemory& memory) const;

  CudaDevice& device_;
  cuda::Settings settings_;
  DriverApi::Handle sizes_kernel_ = nullptr;
  std::byte* told_ = nullptr;  ///< memory of one Sizes on the device
  mutable std::map<std::pair<std::uint64_t, std::uint64_t>, cuda::Sizes> known_;
  mutable std::map<DriverApi::Handle, std::uint32_t> blocks_at_once_;
  mutable std::vector<cuda::Segment> placed_;  ///< of the call under way
};

}  // namespace casync::compll
