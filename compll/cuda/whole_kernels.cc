// SPDX-License-Identifier: Apache-2.0
//
// Kernels of programs that need the whole vector: one launch for each function. A residual is the encoded vector minus
// the decoded one, and a merge encodes a sum in memory.
#include <utility>

#include "compll/cuda/codec_kernels.h"
#include "compll/cuda/settings.h"
#include "compll/cuda/staged_kernels.h"

namespace casync::compll {
namespace {

/// In the order of cuda::Sizes.
enum Function : std::size_t { kEncode, kMerge, kDecode, kResult, kFunctions };
constexpr const char* kNames[kFunctions] = {"encode", "merge", "decode", "result"};

class WholeKernels final : public CodecKernels {
 public:
  WholeKernels(CudaDevice& device, const CodecInfo& info, bool keeps_residual)
      : kernels_(device, settings_of(info)), keeps_residual_(keeps_residual) {}

  Status find(const CudaModules& modules, const CudaWhole& text) {
    CASYNC_RETURN_IF_ERROR(kernels_.find(modules, text.codec));
    for (const auto& [function, stages] : text.stages) {
      for (std::size_t i = 0; i < kFunctions; ++i) {
        if (function == kNames[i]) CASYNC_RETURN_IF_ERROR(kernels_.find(modules, text.codec, function, functions_[i]));
      }
    }
    return Status::ok();
  }

  Launches encode(const cuda::Segment& segment, const EncodeContext& context, LaunchMemory& memory) const override {
    return encode_by(kEncode, segment, context, memory);
  }
  Launches encode_sum(const cuda::Segment& segment, const EncodeContext& context, LaunchMemory& memory) const override {
    return encode_by(functions_[kMerge] != nullptr ? kMerge : kEncode, segment, context, memory);
  }

  Launches merge(const cuda::Segment& segment, const EncodeContext& context, LaunchMemory& memory) const override {
    Launches all = decode(segment, false, memory);
    cuda::Segment sum = segment;
    sum.in = segment.out;
    for (const ReadyLaunch& each : encode_sum(sum, context, memory)) all.push_back(each);
    return all;
  }

  Launches decode(const cuda::Segment& segment, bool add, LaunchMemory& memory) const override {
    ReadyLaunch made = start(kDecode, segment, {}, memory);
    made.launch.contributions = segment.contribution_count;
    made.launch.add = add;
    return {made};
  }

  Launches result(const cuda::Segment& segment, const EncodeContext& context, LaunchMemory& memory) const override {
    return {start(kResult, segment, context, memory)};
  }

 private:
  ReadyLaunch start(Function function, const cuda::Segment& segment, const EncodeContext& context,
                    LaunchMemory& memory) const {
    return kernels_.launch(functions_[function], function, {segment.n, 1}, StagedKernels::Tiles::kByLength, segment,
                           context, memory);
  }

  /// Encodes. The kernel writes the vector that it encodes to `residual_out`, or the residual itself.
  Launches encode_by(Function function, const cuda::Segment& segment, const EncodeContext& context,
                     LaunchMemory& memory) const {
    Launches all = {start(function, segment, context, memory)};
    if (segment.residual_out == nullptr || keeps_residual_) return all;
    cuda::Segment rest = segment;
    rest.out = segment.residual_out;
    rest.contributions = memory.give_one(cuda::Contribution{segment.payload, nullptr});
    rest.contribution_count = 1;
    all.push_back(decode(rest, false, memory).front());
    all.back().launch.subtract = true;
    return all;
  }

  StagedKernels kernels_;
  const bool keeps_residual_;
  DriverApi::Handle functions_[kFunctions] = {};
};

class RoundsKernels final : public TurnKernels {
 public:
  RoundsKernels(CudaDevice& device, const CodecInfo& info)
      : kernels_(device, settings_of(info)), rounds_(info.rounds) {}

  Status find(const CudaModules& modules, const CudaRounds& text) {
    CASYNC_RETURN_IF_ERROR(kernels_.find(modules, text.codec));
    for (std::uint32_t turn = 0; turn <= rounds_; ++turn) {
      DriverApi::Handle kernel = nullptr;
      CASYNC_RETURN_IF_ERROR(kernels_.find(modules, text.codec, "turn_" + std::to_string(turn), kernel));
      turns_.push_back(kernel);
    }
    return Status::ok();
  }

  RoundsShape shape(Elements rows, Elements columns) const override {
    const cuda::Sizes& sizes = kernels_.sizes({rows, columns});
    return {{sizes.exchanged_floats, sizes.exchanged_floats + rounds_}, sizes.state_floats, sizes.scratch_floats};
  }

  Launches turn(std::uint32_t number, const cuda::Segment& segment, const EncodeContext& context,
                LaunchMemory& memory) const override {
    return {kernels_.launch(turns_[number], number, {segment.rows, segment.columns}, StagedKernels::Tiles::kAsSaid,
                            segment, context, memory)};
  }

 private:
  StagedKernels kernels_;
  std::uint32_t rounds_;
  std::vector<DriverApi::Handle> turns_;
};

}  // namespace

Result<std::unique_ptr<CodecKernels>> make_whole_kernels(CudaDevice& device, const CudaModules& modules,
                                                         const CudaWhole& text, const CodecInfo& info) {
  auto kernels = std::make_unique<WholeKernels>(device, info, text.keeps_residual);
  CASYNC_RETURN_IF_ERROR(kernels->find(modules, text));
  return std::unique_ptr<CodecKernels>(std::move(kernels));
}

Result<std::unique_ptr<TurnKernels>> make_turn_kernels(CudaDevice& device, const CudaModules& modules,
                                                       const CudaRounds& text, const CodecInfo& info) {
  auto kernels = std::make_unique<RoundsKernels>(device, info);
  CASYNC_RETURN_IF_ERROR(kernels->find(modules, text));
  return std::unique_ptr<TurnKernels>(std::move(kernels));
}

}  // namespace casync::compll
