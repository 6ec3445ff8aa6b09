// SPDX-License-Identifier: Apache-2.0
//
// Kernels of blocks and elements: an encoding is one launch, or two where the tensor has statistics.
#include <algorithm>
#include <bit>
#include <utility>

#include "compll/cuda/codec_kernels.h"
#include "compll/cuda/settings.h"

namespace casync::compll {
namespace {

class TileKernels final : public CodecKernels {
 public:
  TileKernels(const cuda::Shape& shape, const CodecInfo& info)
      : shape_(shape), has_result_(info.has_result), settings_(settings_of(info)) {
    settings_.block = 1;
    if (shape.has_blocks) {
      settings_.block = shape.block_parameter < 0
                            ? shape.fixed_block
                            : static_cast<std::uint32_t>(info.values[static_cast<std::size_t>(shape.block_parameter)]);
    }
    settings_.log2_block = static_cast<std::uint32_t>(std::countr_zero(settings_.block));
  }

  Status find(CudaDevice& device, const CudaModules& modules, const std::string& codec) {
    const auto take = [&](const char* function, DriverApi::Handle& kernel) -> Status {
      const auto found = device.kernel(modules, "casync_" + codec + "_" + function);
      if (found) kernel = *found;
      return found.status();
    };
    CASYNC_RETURN_IF_ERROR(take("encode", encode_));
    CASYNC_RETURN_IF_ERROR(take("merge", merge_));
    CASYNC_RETURN_IF_ERROR(take("decode", decode_));
    if (has_result_) CASYNC_RETURN_IF_ERROR(take("result", result_));
    if (!shape_.statistics) return Status::ok();
    CASYNC_RETURN_IF_ERROR(take("encode_statistics", encode_statistics_));
    return take("merge_statistics", merge_statistics_);
  }

  Launches encode(const cuda::Segment& segment, const EncodeContext& context, LaunchMemory& memory) const override {
    return encoding(encode_statistics_, encode_, segment, context, memory);
  }

  Launches encode_sum(const cuda::Segment& segment, const EncodeContext& context, LaunchMemory& memory) const override {
    cuda::Segment of_one = segment;
    of_one.contributions = memory.give_one(cuda::Contribution{nullptr, segment.in});
    of_one.contribution_count = 1;
    return merge(of_one, context, memory);
  }

  Launches merge(const cuda::Segment& segment, const EncodeContext& context, LaunchMemory& memory) const override {
    return encoding(merge_statistics_, merge_, segment, context, memory);
  }

  Launches decode(const cuda::Segment& segment, bool add, LaunchMemory& memory) const override {
    Launches all = launches({decode_}, segment, {}, memory);
    all.back().launch.add = add;
    return all;
  }

  Launches result(const cuda::Segment& segment, const EncodeContext& context, LaunchMemory& memory) const override {
    return launches({result_}, segment, context, memory);
  }

 private:
  Launches encoding(DriverApi::Handle statistics, DriverApi::Handle kernel, const cuda::Segment& segment,
                    const EncodeContext& context, LaunchMemory& memory) const {
    if (!cuda::needs_second(shape_, &segment, 1)) return launches({statistics}, segment, context, memory);
    return launches({statistics, kernel}, segment, context, memory);
  }

  /// Launches these kernels, except for null ones.
  Launches launches(std::initializer_list<DriverApi::Handle> kernels, cuda::Segment segment,
                    const EncodeContext& context, LaunchMemory& memory) const {
    const std::uint32_t unit = cuda::unit_of(shape_.has_blocks, shape_.ordered, settings_.block);
    const std::size_t slots = shape_.slots * sizeof(cuda::uint64_t);
    cuda::Launch launch = launch_of(segment, context, settings_);
    const cuda::Grid grid = cuda::grid_of(cuda::place_tiles(&segment, 1, unit), unit);
    launch.contributed = settings_;
    launch.segments = memory.give_one(segment);
    launch.workspace = reinterpret_cast<cuda::uint64_t*>(memory.work(slots, slots));
    Launches all;
    for (const DriverApi::Handle kernel : kernels) {
      if (kernel != nullptr) all.push_back({kernel, grid, launch});
    }
    return all;
  }

  cuda::Shape shape_;
  bool has_result_;
  cuda::Settings settings_;
  DriverApi::Handle encode_ = nullptr, merge_ = nullptr, decode_ = nullptr, result_ = nullptr;
  DriverApi::Handle encode_statistics_ = nullptr, merge_statistics_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<CodecKernels>> make_tile_kernels(CudaDevice& device, const CudaModules& modules,
                                                        const CudaText& text, const CodecInfo& info) {
  auto kernels = std::make_unique<TileKernels>(text.shape, info);
  CASYNC_RETURN_IF_ERROR(kernels->find(device, modules, text.codec));
  return std::unique_ptr<CodecKernels>(std::move(kernels));
}

}  // namespace casync::compll
