// SPDX-License-Identifier: Apache-2.0
//
// Kernels of blocks and elements: an encoding is one launch, or two where the tensor has statistics.
#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

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
      const auto found = modules.kernel(device, "casync_" + codec + "_" + function);
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

  Launches encode(Segments segments, const EncodeContext& context, LaunchMemory& memory) const override {
    return encoding(encode_statistics_, encode_, segments, context, memory);
  }

  Launches encode_sum(Segments segments, const EncodeContext& context, LaunchMemory& memory) const override {
    terms_.clear();
    for (const cuda::Segment& each : segments) terms_.push_back({nullptr, each.in, each.in_type});
    const cuda::Contribution* const given = memory.give_all(terms_);
    sums_.assign(segments.begin(), segments.end());
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      sums_[i].contributions = given == nullptr ? nullptr : given + i;
      sums_[i].contribution_count = 1;
    }
    return merge(sums_, context, memory);
  }

  Launches merge(Segments segments, const EncodeContext& context, LaunchMemory& memory) const override {
    return encoding(merge_statistics_, merge_, segments, context, memory);
  }

  Launches decode(Segments segments, bool add, LaunchMemory& memory) const override {
    Launches all = launches({decode_}, segments, {}, memory);
    all.back().launch.add = add;
    return all;
  }

  Launches result(Segments segments, const EncodeContext& context, LaunchMemory& memory) const override {
    return launches({result_}, segments, context, memory);
  }

 private:
  Launches encoding(DriverApi::Handle statistics, DriverApi::Handle kernel, Segments segments,
                    const EncodeContext& context, LaunchMemory& memory) const {
    const auto count = static_cast<std::uint32_t>(segments.size());
    if (!cuda::needs_second(shape_, segments.data(), count)) return launches({statistics}, segments, context, memory);
    return launches({statistics, kernel}, segments, context, memory);
  }

  /// Launches these kernels, except for null ones.
  Launches launches(std::initializer_list<DriverApi::Handle> kernels, Segments segments, const EncodeContext& context,
                    LaunchMemory& memory) const {
    const std::uint32_t unit = cuda::unit_of(shape_.has_blocks, shape_.ordered, settings_.block);
    const std::size_t slots = segments.size() * shape_.slots * sizeof(cuda::uint64_t);
    placed_.assign(segments.begin(), segments.end());
    const auto count = static_cast<std::uint32_t>(placed_.size());
    cuda::Launch launch = launch_of(count, context, settings_);
    const cuda::Grid grid = cuda::grid_of(cuda::place_tiles(placed_.data(), count, unit), unit);
    launch.segments = memory.give_all(placed_);
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
  mutable std::vector<cuda::Segment> placed_, sums_;  ///< of the call under way
  mutable std::vector<cuda::Contribution> terms_;
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
