// SPDX-License-Identifier: Apache-2.0
#include "compll/cuda/staged_kernels.h"

#include <algorithm>

#include "base/units.h"
#include "compll/cuda/settings.h"

namespace casync::compll {
namespace {

constexpr std::size_t kAlignment = 256;  // of a segment's memory

/// The size of a segment, as its program has it.
cuda::Matrix matrix_of(const cuda::Segment& segment) {
  if (segment.rows != 0) return {segment.rows, segment.columns};
  return {segment.n, 1};
}

}  // namespace

Status StagedKernels::find(const CudaModules& modules, const std::string& codec) {
  told_ = device_.allocate(sizeof(cuda::Sizes));
  if (!device_.status()) return device_.status();
  if (told_ == nullptr) return unavailable(device_.facts().name + ": it has no memory left");
  CASYNC_RETURN_IF_ERROR(find(modules, codec, "sizes", sizes_kernel_));
  const bool has_tile = sizes({0, 1}).tile_elements != 0;
  if (!device_.status()) return device_.status();
  if (has_tile) return Status::ok();
  return unimplemented("codec `" + codec +
                       "` on a GPU: no tile has whole blocks of all its sizes; choose sizes whose least common "
                       "multiple is smaller, as that of powers of two is");
}

Status StagedKernels::find(const CudaModules& modules, const std::string& codec, const std::string& function,
                           DriverApi::Handle& kernel) {
  const auto found = modules.kernel(device_, "casync_" + codec + "_" + function);
  if (found) kernel = *found;
  return found.status();
}

const cuda::Sizes& StagedKernels::sizes(const cuda::Matrix& n) const {
  const auto [known, is_new] = known_.try_emplace({n.rows, n.columns});
  if (!is_new) return known->second;
  cuda::Sizes* told = reinterpret_cast<cuda::Sizes*>(told_);
  cuda::Matrix of = n;
  cuda::Settings settings = settings_;
  void* arguments[] = {&told, &of, &settings};
  device_.launch_one(sizes_kernel_, arguments);
  device_.download(&known->second, told_, sizeof(cuda::Sizes));
  return known->second;
}

ReadyLaunch StagedKernels::launch(DriverApi::Handle kernel, std::size_t function, Tiles how_large,
                                  std::span<const cuda::Segment> segments, const EncodeContext& context,
                                  LaunchMemory& memory) const {
  placed_.assign(segments.begin(), segments.end());
  const auto count = static_cast<std::uint32_t>(placed_.size());
  const auto [most, is_new] = blocks_at_once_.try_emplace(kernel, 0);
  if (is_new) most->second = device_.blocks_at_once(kernel, cuda::kVectorFormSharedBytes);
  cuda::Launch launch = launch_of(count, context, settings_);
  // The device tells no sizes after it has failed.
  const std::uint32_t tile = std::max(sizes(matrix_of(placed_[0])).tile_elements, 1u);
  launch.tile =
      how_large == Tiles::kAsSaid ? tile : cuda::vector_form_tile_of(placed_.data(), count, tile, most->second);
  const std::uint32_t tiles = cuda::place_vector_form_tiles(placed_.data(), count, launch.tile);
  give_memory(function, memory);
  launch.segments = memory.give_all(placed_);
  launch.tickets = reinterpret_cast<cuda::uint32_t*>(memory.work(sizeof(cuda::uint32_t), sizeof(cuda::uint32_t)));
  return {kernel, cuda::vector_form_grid_of(tiles, most->second), launch};
}

/// One piece for the memory of all segments. Several are filled with zeros together, a single one only as far as it
/// has to be.
void StagedKernels::give_memory(std::size_t function, LaunchMemory& memory) const {
  std::size_t bytes = 0;
  for (const cuda::Segment& each : placed_) {
    bytes += round_up(sizes(matrix_of(each)).memory_bytes[function], kAlignment);
  }
  const cuda::Sizes& first = sizes(matrix_of(placed_[0]));
  std::byte* at = placed_.size() == 1 ? memory.work(first.memory_bytes[function], first.zeroed_bytes[function])
                                      : memory.work(bytes, bytes);
  for (cuda::Segment& each : placed_) {
    each.memory = reinterpret_cast<unsigned char*>(at);
    if (at != nullptr) at += round_up(sizes(matrix_of(each)).memory_bytes[function], kAlignment);
  }
}

}  // namespace casync::compll
