// SPDX-License-Identifier: Apache-2.0
//
// Kernels of programs in vector form: one launch for each function. A residual is the encoded vector minus
// the decoded one, and a merge encodes a sum in memory.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "compll/cuda/codec_kernels.h"
#include "compll/cuda/settings.h"
#include "compll/cuda/staged_kernels.h"

namespace casync::compll {
namespace {

/// In the order of cuda::Sizes.
enum Function : std::size_t { kEncode, kMerge, kDecode, kResult, kFunctions };
constexpr const char* kFunctionNames[kFunctions] = {"encode", "merge", "decode", "result"};

class VectorFormKernels final : public CodecKernels {
 public:
  VectorFormKernels(CudaDevice& device, const CodecInfo& info, bool keeps_residual)
      : kernels_(device, settings_of(info)), keeps_residual_(keeps_residual) {}

  Status find(const CudaModules& modules, const CudaVectorForm& text) {
    CASYNC_RETURN_IF_ERROR(kernels_.find(modules, text.codec));
    for (const auto& [function, stages] : text.stages) {
      for (std::size_t i = 0; i < kFunctions; ++i) {
        if (function == kFunctionNames[i])
          CASYNC_RETURN_IF_ERROR(kernels_.find(modules, text.codec, function, functions_[i]));
      }
    }
    return Status::ok();
  }

  Launches encode(Segments segments, const EncodeContext& context, LaunchMemory& memory) const override {
    return encode_by(kEncode, segments, context, memory);
  }
  Launches encode_sum(Segments segments, const EncodeContext& context, LaunchMemory& memory) const override {
    return encode_by(functions_[kMerge] != nullptr ? kMerge : kEncode, segments, context, memory);
  }

  Launches merge(Segments segments, const EncodeContext& context, LaunchMemory& memory) const override {
    Launches all = decode(segments, false, memory);
    sums_.assign(segments.begin(), segments.end());
    for (cuda::Segment& each : sums_) {
      each.in = each.out;
      each.in_type = each.out_type;
    }
    for (const ReadyLaunch& each : encode_sum(sums_, context, memory)) all.push_back(each);
    return all;
  }

  Launches decode(Segments segments, bool add, LaunchMemory& memory) const override {
    ReadyLaunch made = start(kDecode, segments, {}, memory);
    for (const cuda::Segment& each : segments) {
      // A sum of several terms would be rounded at each.
      CASYNC_CHECK(each.out_type == cuda::ElementType::kFloat32 || each.contribution_count <= 1);
      made.launch.contributions = std::max(made.launch.contributions, each.contribution_count);
    }
    made.launch.add = add;
    return {made};
  }

  Launches result(Segments segments, const EncodeContext& context, LaunchMemory& memory) const override {
    return {start(kResult, segments, context, memory)};
  }

 private:
  ReadyLaunch start(Function function, Segments segments, const EncodeContext& context, LaunchMemory& memory) const {
    return kernels_.launch(functions_[function], function, StagedKernels::Tiles::kByLength, segments, context, memory);
  }

  /// Encodes segments that all want a residual, or none does. The kernel writes the vector that it encodes to
  /// `residual_out`, or the residual itself.
  Launches encode_by(Function function, Segments segments, const EncodeContext& context, LaunchMemory& memory) const {
    Launches all = {start(function, segments, context, memory)};
    if (segments[0].residual_out == nullptr || keeps_residual_) return all;
    terms_.clear();
    for (const cuda::Segment& each : segments) terms_.push_back({each.payload, nullptr});
    const cuda::Contribution* const given = memory.give_all(terms_);
    rests_.assign(segments.begin(), segments.end());
    for (std::size_t i = 0; i < rests_.size(); ++i) {
      rests_[i].out = rests_[i].residual_out;
      rests_[i].out_type = cuda::ElementType::kFloat32;
      rests_[i].contributions = given == nullptr ? nullptr : given + i;
      rests_[i].contribution_count = 1;
    }
    all.push_back(decode(rests_, false, memory).front());
    all.back().launch.subtract = true;
    return all;
  }

  StagedKernels kernels_;
  const bool keeps_residual_;
  mutable std::vector<cuda::Segment> sums_, rests_;  ///< of the call under way
  mutable std::vector<cuda::Contribution> terms_;
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
    cuda::Segment own = segment;
    give_numbers(own, context);
    return {kernels_.launch(turns_[number], number, StagedKernels::Tiles::kAsSaid, {&own, 1}, context, memory)};
  }

 private:
  StagedKernels kernels_;
  std::uint32_t rounds_;
  std::vector<DriverApi::Handle> turns_;
};

}  // namespace

Result<std::unique_ptr<CodecKernels>> make_vector_form_kernels(CudaDevice& device, const CudaModules& modules,
                                                               const CudaVectorForm& text, const CodecInfo& info) {
  auto kernels = std::make_unique<VectorFormKernels>(device, info, text.keeps_residual);
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
