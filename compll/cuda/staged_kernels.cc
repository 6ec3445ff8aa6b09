// SPDX-License-Identifier: Apache-2.0
#include "compll/cuda/staged_kernels.h"

#include "compll/cuda/settings.h"

namespace casync::compll {

Status StagedKernels::find(const CudaModules& modules, const std::string& codec) {
  told_ = device_.allocate(sizeof(cuda::Sizes));
  if (told_ == nullptr) return unavailable(device_.name() + ": it has no memory left");
  return find(modules, codec, "sizes", sizes_kernel_);
}

Status StagedKernels::find(const CudaModules& modules, const std::string& codec, const std::string& function,
                           DriverApi::Handle& kernel) {
  const auto found = device_.kernel(modules, "casync_" + codec + "_" + function);
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
  if (known->second.tile_elements == 0) known->second.tile_elements = 1;  // the device failed
  return known->second;
}

ReadyLaunch StagedKernels::launch(DriverApi::Handle kernel, std::size_t function, const cuda::Matrix& n,
                                  Tiles how_large, cuda::Segment segment, const EncodeContext& context,
                                  LaunchMemory& memory) const {
  const cuda::Sizes& all = sizes(n);
  const auto [most, is_new] = blocks_at_once_.try_emplace(kernel, 0);
  if (is_new) most->second = device_.blocks_at_once(kernel, cuda::kWholeSharedBytes);
  cuda::Launch launch = launch_of(segment, context, settings_);
  launch.tile = how_large == Tiles::kAsSaid ? all.tile_elements
                                            : cuda::whole_tile_of(&segment, 1, all.tile_elements, most->second);
  const std::uint32_t tiles = cuda::place_whole_tiles(&segment, 1, launch.tile);
  segment.memory =
      reinterpret_cast<unsigned char*>(memory.work(all.memory_bytes[function], all.zeroed_bytes[function]));
  launch.segments = memory.give_one(segment);
  launch.tickets = reinterpret_cast<cuda::uint32_t*>(memory.work(sizeof(cuda::uint32_t), sizeof(cuda::uint32_t)));
  return {kernel, cuda::whole_grid_of(tiles, most->second), launch};
}

}  // namespace casync::compll
