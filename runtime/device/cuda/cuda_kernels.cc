// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/cuda_kernels.h"

#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

#include "compll/codec/coded/coded_codec.h"
#include "compll/cuda/codec_kernels.h"
#include "compll/cuda/payload_coder.h"
#include "runtime/device/cuda/cuda_stream.h"
#include "runtime/device/cuda/launch_room.h"

namespace casync::runtime {
namespace {

namespace cuda = compll::cuda;

static_assert(sizeof(KernelOutcome) == sizeof(cuda::CodedOutcome) &&
              offsetof(KernelOutcome, fault) == offsetof(cuda::CodedOutcome, fault));

template <class T>
T* pointer(DeviceView view) {
  return reinterpret_cast<T*>(view.address());
}

cuda::ElementType element_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: break;
    case DType::kFloat16: return cuda::ElementType::kFloat16;
    case DType::kBFloat16: return cuda::ElementType::kBFloat16;
  }
  return cuda::ElementType::kFloat32;
}

/// Fills the memory of the launches and queues them.
Status launch(const compll::Launches& launches, LaunchRoom& memory, const CudaCalls& calls, Stream& stream) {
  CASYNC_RETURN_IF_ERROR(memory.fill(stream));
  const auto handle = static_cast<CudaStream&>(stream).handle();
  return calls("cuLaunchKernel", [&](const CudaCalls::Api& api) {
    CudaCalls::Api::Code code = 0;
    for (const compll::ReadyLaunch& each : launches) {
      if (code == 0) code = compll::launch(api, each, handle);
    }
    return code;
  });
}

class CudaKernels final : public CodecKernels {
 public:
  CudaKernels(compll::CudaDevice& device, const CudaCalls& calls, compll::CodecInfo info,
              std::unique_ptr<compll::CodecKernels> kernels, std::unique_ptr<compll::PayloadCoder> coder)
      : device_(device),
        calls_(calls),
        info_(std::move(info)),
        kernels_(std::move(kernels)),
        coder_(std::move(coder)) {}

  Result<KernelRoom> room(std::span<const KernelCall> batch) override {
    LaunchRoom counting;
    static_cast<void>(launches_of(batch, counting));
    if (!device_.status()) return device_.status();
    return counting.counted();
  }

  Status issue(std::span<const KernelCall> batch, DeviceView room, View pinned, Stream& stream) override {
    LaunchRoom memory(room, pinned);
    const compll::Launches launches = launches_of(batch, memory);
    if (!device_.status()) return device_.status();
    return launch(launches, memory, calls_, stream);
  }

 private:
  compll::Launches launches_of(std::span<const KernelCall> batch, LaunchRoom& memory) {
    if (coder_ != nullptr) coder_->begin();
    segments_.clear();
    for (const KernelCall& call : batch) segments_.push_back(segment_of(call, memory));
    give_terms(batch, memory);
    if (coder_ == nullptr) return own_launches(batch[0], memory);
    compll::Launches all;
    coder_->launch_reads(memory, all);
    for (const compll::ReadyLaunch& each : own_launches(batch[0], memory)) all.push_back(each);
    coder_->launch_makes(memory, all);
    return all;
  }

  /// The launches of the codec's kernels on the segments; `first`: their function, and its seed and step.
  compll::Launches own_launches(const KernelCall& first, LaunchRoom& memory) {
    const compll::EncodeContext& context = first.context;
    switch (first.function) {
      case KernelFunction::kEncode: return kernels_->encode(segments_, context, memory);
      case KernelFunction::kEncodeSum: return kernels_->encode_sum(segments_, context, memory);
      case KernelFunction::kMerge: return kernels_->merge(segments_, context, memory);
      case KernelFunction::kDecode: return kernels_->decode(segments_, false, memory);
      case KernelFunction::kResult: return kernels_->result(segments_, context, memory);
    }
    return {};
  }

  cuda::Segment segment_of(const KernelCall& call, LaunchRoom& memory) {
    cuda::Segment segment;
    segment.n = call.n;
    segment.gradient = call.context.gradient;
    segment.first = call.context.first;
    segment.scale = call.scale;
    segment.in = pointer<const void>(call.in);
    segment.in_type = element_type(call.in_type);
    segment.payload = pointer<unsigned char>(call.payload);
    if (coder_ != nullptr && !call.payload.is_null()) {
      segment.payload = coder_->add_made(segment.payload, call.n, pointer<cuda::CodedOutcome>(call.outcome), memory);
    }
    segment.out = pointer<void>(call.out);
    segment.out_type = element_type(call.out_type);
    segment.not_finite = pointer<KernelWord>(call.not_finite);
    if (!call.kept_in.is_null()) give_kept(call, segment);
    return segment;
  }

  /// Gives the terms of all calls as one piece.
  void give_terms(std::span<const KernelCall> batch, LaunchRoom& memory) {
    contributions_.clear();
    for (const KernelCall& call : batch) {
      for (const KernelTerm& term : call.terms) {
        contributions_.push_back(
            {given_payload(call, term, memory), pointer<const void>(term.raw), element_type(term.raw_type)});
      }
    }
    if (contributions_.empty()) return;
    const cuda::Contribution* at = memory.give_all(contributions_);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      segments_[i].contributions = at;
      segments_[i].contribution_count = static_cast<std::uint32_t>(batch[i].terms.size());
      if (at != nullptr) at += batch[i].terms.size();
    }
  }

  /// A payload as the codec's own kernels read it.
  const unsigned char* given_payload(const KernelCall& call, const KernelTerm& term, LaunchRoom& memory) {
    auto* const payload = pointer<unsigned char>(term.payload);
    if (coder_ == nullptr || term.payload.is_null()) return payload;
    return coder_->add_read(payload, term.payload.size(), call.n, pointer<cuda::CodedOutcome>(call.outcome), memory);
  }

  /// The residual is the first array, if there is one; the others are the codec's own. No function of a result reads
  /// it.
  void give_kept(const KernelCall& call, cuda::Segment& segment) const {
    const Bytes residual = info_.feedback ? call.kept_stride * sizeof(float) : 0;
    if (info_.feedback && call.function != KernelFunction::kResult) {
      segment.residual_in = pointer<const float>(call.kept_in);
      segment.residual_out = pointer<float>(call.kept_out);
    }
    if (info_.states == (info_.feedback ? 1u : 0u)) return;
    segment.states_in = reinterpret_cast<const float*>(call.kept_in.address() + residual);
    segment.states_out = reinterpret_cast<float*>(call.kept_out.address() + residual);
    segment.state_stride = call.kept_stride;
  }

  compll::CudaDevice& device_;
  const CudaCalls& calls_;
  const compll::CodecInfo info_;
  const std::unique_ptr<compll::CodecKernels> kernels_;
  const std::unique_ptr<compll::PayloadCoder> coder_;  ///< null: no section is coded
  std::vector<cuda::Segment> segments_;                ///< of the batch under way
  std::vector<cuda::Contribution> contributions_;
};

class CudaTurns final : public TurnKernels {
 public:
  CudaTurns(compll::CudaDevice& device, const CudaCalls& calls, std::unique_ptr<compll::TurnKernels> kernels)
      : device_(device), calls_(calls), kernels_(std::move(kernels)) {}

  Result<Elements> scratch(Elements rows, Elements columns) override {
    const Elements floats = kernels_->shape(rows, columns).scratch;
    return device_.status() ? Result<Elements>(floats) : device_.status();
  }

  Result<KernelRoom> room(const TurnCall& call) override {
    LaunchRoom counting;
    static_cast<void>(launches_of(call, counting));
    if (!device_.status()) return device_.status();
    return counting.counted();
  }

  Status issue(const TurnCall& call, DeviceView room, View pinned, Stream& stream) override {
    LaunchRoom memory(room, pinned);
    const compll::Launches launches = launches_of(call, memory);
    if (!device_.status()) return device_.status();
    return launch(launches, memory, calls_, stream);
  }

 private:
  compll::Launches launches_of(const TurnCall& call, LaunchRoom& memory) const {
    cuda::Segment segment;
    segment.n = call.rows * call.columns;
    segment.rows = call.rows;
    segment.columns = call.columns;
    segment.in = pointer<const void>(call.gradient);
    segment.out = pointer<void>(call.out);
    segment.states_in = pointer<const float>(call.kept_in);
    segment.states_out = pointer<float>(call.kept_out);
    segment.scratch = pointer<float>(call.scratch);
    for (std::size_t i = 0; i < call.exchanged.size(); ++i) segment.exchanged[i] = pointer<float>(call.exchanged[i]);
    return kernels_->turn(call.number, segment, call.context, memory);
  }

  compll::CudaDevice& device_;
  const CudaCalls& calls_;
  const std::unique_ptr<compll::TurnKernels> kernels_;
};

}  // namespace

Result<std::unique_ptr<TurnKernels>> make_cuda_turns(compll::CudaDevice& device, const CudaCalls& calls,
                                                     const compll::CudaModules& modules,
                                                     const compll::CudaCodecText& text,
                                                     const compll::RoundsCodec& meaning) {
  const compll::CodecInfo& info = meaning.info();
  const auto* const turns = std::get_if<compll::CudaRounds>(&text);
  if (turns == nullptr) return unimplemented("codec `" + info.name + "` does not exchange within a step");
  auto kernels = compll::make_turn_kernels(device, modules, *turns, info);
  if (!kernels) return kernels.status();
  return std::unique_ptr<TurnKernels>(std::make_unique<CudaTurns>(device, calls, std::move(*kernels)));
}

Result<std::unique_ptr<CodecKernels>> make_cuda_kernels(compll::CudaDevice& device, const CudaCalls& calls,
                                                        const compll::CudaModules& modules,
                                                        const compll::CudaCodecText& text,
                                                        const compll::Codec& meaning) {
  const compll::CodecInfo& info = meaning.info();
  if (std::holds_alternative<compll::CudaRounds>(text)) {
    return unimplemented("codec `" + info.name + "` exchanges within a step: it encodes nothing by itself");
  }
  const auto* const tiles = std::get_if<compll::CudaText>(&text);
  auto kernels = tiles != nullptr
                     ? compll::make_tile_kernels(device, modules, *tiles, info)
                     : compll::make_vector_form_kernels(device, modules, std::get<compll::CudaVectorForm>(text), info);
  if (!kernels) return kernels.status();
  std::unique_ptr<compll::PayloadCoder> coder;
  if (const compll::PayloadCoding* const coding = compll::coding_of(meaning)) {
    coder = std::make_unique<compll::PayloadCoder>(*coding);
    CASYNC_RETURN_IF_ERROR(coder->find(device, modules, compll::name_of(text)));
  }
  return std::unique_ptr<CodecKernels>(
      std::make_unique<CudaKernels>(device, calls, info, std::move(*kernels), std::move(coder)));
}

}  // namespace casync::runtime
