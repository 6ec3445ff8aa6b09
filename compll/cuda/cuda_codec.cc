// SPDX-License-Identifier: Apache-2.0
#include "compll/cuda/cuda_codec.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "base/check.h"
#include "compll/codec/coded/coded_codec.h"
#include "compll/codec/merge_whole.h"
#include "compll/codec/payload.h"
#include "compll/cuda/payload_coder.h"
#include "compll/cuda/settings.h"

namespace casync::compll {
namespace {

using Piece = StagedMemory::Piece;

const float* give(StagedMemory& memory, const float* values, Elements n) {
  return reinterpret_cast<const float*>(memory.give(values, n * sizeof(float)));
}

/// The residual and the states of a call, which are kept from step to step.
class KeptVectors {
 public:
  /// The new ones.
  struct Kept {
    Piece residual, states;
  };

  /// Borrows both.
  KeptVectors(const CodecInfo& info, StagedMemory& memory) : info_(info), memory_(memory) {}

  Kept keep(Residual residual, Elements n, bool encodes, cuda::Segment& segment) const {
    Kept kept;
    if (encodes && adds_residual()) {
      if (residual.in != nullptr) segment.residual_in = give(memory_, residual.in, n);
      if (residual.out != nullptr) kept.residual = memory_.room(nullptr, n * sizeof(float));
      segment.residual_out = kept.residual.as<float>();
    }
    if (own_states() == 0) return kept;
    std::vector<float> before;
    for (std::size_t i = info_.feedback ? 1 : 0; i < info_.states; ++i) {
      const float* const in = residual.in + i * residual.stride;
      residual.in == nullptr ? before.insert(before.end(), n, info_.state_initial[i])
                             : before.insert(before.end(), in, in + n);
    }
    segment.states_in = give(memory_, before.data(), before.size());
    segment.state_stride = n;
    if (residual.out != nullptr) kept.states = memory_.room(nullptr, before.size() * sizeof(float));
    segment.states_out = kept.states.as<float>();
    return kept;
  }

  void fetch(const Kept& kept, Residual residual, Elements n) const {
    if (residual.out == nullptr) return;
    memory_.read(kept.residual, residual.out);
    std::vector<float> states(own_states() * n);
    memory_.read(kept.states, states.data());
    float* out = residual.out + (info_.feedback ? residual.stride : 0);
    for (std::size_t i = 0; i < own_states(); ++i) {
      std::copy_n(states.data() + i * n, n, out + i * residual.stride);
    }
  }

 private:
  std::uint32_t own_states() const { return info_.states - (info_.feedback ? 1 : 0); }
  /// A caller may give a residual to any codec that has no states instead.
  bool adds_residual() const { return info_.feedback || info_.states == 0; }

  const CodecInfo& info_;
  StagedMemory& memory_;
};

/// The coding of a call's payloads, around the codec's own kernels. Does nothing if no section is coded.
class CodingAround {
 public:
  /// `coder`: null if no section is coded. Borrows the others.
  CodingAround(CudaDevice& device, const CodecInfo& info, std::unique_ptr<PayloadCoder> coder, StagedMemory& memory)
      : device_(device), info_(info), coder_(std::move(coder)), memory_(memory) {}

  /// Begins the list of payloads to code, if they have coded sections.
  Piece begin() const {
    if (coder_ == nullptr) return {};
    coder_->begin();
    constexpr cuda::CodedOutcome kNothing;
    return memory_.room(&kNothing, sizeof kNothing);
  }

  /// Gives a payload as the codec's kernels read it.
  unsigned char* give(ConstView payload, Elements n, const Piece& outcome) const {
    auto* const given = reinterpret_cast<unsigned char*>(memory_.give(payload.data, payload.size));
    if (coder_ == nullptr || payload.size == 0) return given;  // the raw elements of n = 0 may be null
    return coder_->add_read(given, payload.size, n, outcome.as<cuda::CodedOutcome>(), memory_);
  }

  /// The payload that the codec's kernels make.
  unsigned char* make(unsigned char* payload, Elements n, const Piece& outcome) const {
    if (coder_ == nullptr) return payload;
    return coder_->add_made(payload, n, outcome.as<cuda::CodedOutcome>(), memory_);
  }

  /// The launches of the codec's own kernels, and those that code around them.
  Launches launches(const Launches& own) const {
    if (coder_ == nullptr) return own;
    Launches all;
    coder_->launch_reads(memory_, all);
    for (const ReadyLaunch& each : own) all.push_back(each);
    coder_->launch_makes(memory_, all);
    return all;
  }

  /// Fails if the kernels found a fault. Payloads have been checked: to find one is a fault of theirs.
  void check(const Piece& outcome) const {
    if (coder_ != nullptr) fetch(outcome);
  }

  /// Fetches a payload that kernels have made, and returns its size.
  Bytes fetch(Piece made, const Piece& outcome, std::byte* payload) const {
    if (coder_ != nullptr) made.size = std::min<std::size_t>(fetch(outcome).bytes, made.size);
    memory_.read(made, payload);
    return made.size;
  }

 private:
  cuda::CodedOutcome fetch(const Piece& outcome) const {
    cuda::CodedOutcome told;
    memory_.read(outcome, &told);
    if (told.fault != 0) device_.fail("a payload that the host reads is none to the kernels of " + info_.name);
    return told;
  }

  CudaDevice& device_;
  const CodecInfo& info_;
  const std::unique_ptr<PayloadCoder> coder_;
  StagedMemory& memory_;
};

class VectorCodec : public CudaCodec {
 public:
  VectorCodec(CudaDevice& device, const Codec& meaning, std::unique_ptr<CodecKernels> kernels,
              std::unique_ptr<PayloadCoder> coder)
      : device_(device),
        meaning_(meaning),
        info_(meaning.info()),
        kernels_(std::move(kernels)),
        memory_(device),
        coding_(device, info_, std::move(coder), memory_) {}

  const CodecInfo& info() const override { return info_; }
  const CodecKernels& kernels() const override { return *kernels_; }
  bool wrote_outside() const override { return memory_.wrote_outside(); }
  void prepare_thread() const override {}
  Bytes encoded_bound(Elements n) const override { return meaning_.encoded_bound(n); }
  Status check(ConstView payload, Elements n) const override { return meaning_.check(payload, n); }

  Encoded encode(const float* in, Elements n, Residual residual, const EncodeContext& context,
                 std::byte* payload) const override {
    return encode_by(&CodecKernels::encode, {in, {}, 1, n}, residual, context, payload);
  }
  Encoded encode_sum(const float* sum, float scale, Elements n, Residual residual, const EncodeContext& context,
                     std::byte* payload) const override {
    return encode_by(&CodecKernels::encode_sum, {sum, {}, scale, n}, residual, context, payload);
  }
  Encoded merge(std::span<const Contribution> contributions, Elements n, float scale, const Codec& second,
                Residual residual, const EncodeContext& context, std::byte* payload) const override {
    CASYNC_CHECK(!contributions.empty());
    if (&second != this) return merge_whole(*this, contributions, n, scale, second, residual, context, payload);
    return encode_by(&CodecKernels::merge, {nullptr, contributions, scale, n}, residual, context, payload);
  }

  void decode(ConstView payload, Elements n, float* out) const override { decode_into(payload, n, false, out); }
  void decode_add(ConstView payload, Elements n, float* out) const override { decode_into(payload, n, true, out); }

  void result(const float* decoded, Elements n, Residual state, const EncodeContext& context,
              float* out) const override {
    CASYNC_CHECK(info_.has_result);
    const std::lock_guard lock(mutex_);
    struct Placed {
      Piece out;
      KeptVectors::Kept kept;
      Launches launches;
    };
    const Placed placed = memory_.send([&] {
      cuda::Segment segment;
      segment.n = n;
      Placed all{memory_.room(decoded, n * sizeof(float)), kept_.keep(state, n, false, segment), {}};
      segment.in = segment.out = all.out.as<float>();
      give_numbers(segment, context);
      all.launches = kernels_->result({&segment, 1}, context, memory_);
      return all;
    });
    run(placed.launches);
    memory_.read(placed.out, out);
    kept_.fetch(placed.kept, state, n);
  }

 private:
  using Encoder = Launches (CodecKernels::*)(CodecKernels::Segments, const EncodeContext&, LaunchMemory&) const;

  /// The operand of an encoding: a vector or contributions.
  struct Input {
    const float* in = nullptr;
    std::span<const Contribution> contributions;
    float scale = 1;
    Elements n = 0;
  };

  void place(std::span<const Contribution> contributions, const Piece& outcome, cuda::Segment& segment) const {
    std::vector<cuda::Contribution> all;
    for (const Contribution& each : contributions) {
      if (each.raw != nullptr) {
        all.push_back({nullptr, give(memory_, each.raw, segment.n)});
      } else {
        all.push_back({coding_.give(each.code, segment.n, outcome), nullptr});
      }
    }
    segment.contributions =
        reinterpret_cast<const cuda::Contribution*>(memory_.give(all.data(), all.size() * sizeof all[0]));
    segment.contribution_count = static_cast<std::uint32_t>(all.size());
  }

  void run(const Launches& launches) const {
    device_.launch(launches);
    memory_.fetch();
  }

  Encoded encode_by(Encoder encoder, const Input& input, Residual residual, const EncodeContext& context,
                    std::byte* payload) const {
    const std::lock_guard lock(mutex_);
    struct Placed {
      Piece outcome, payload;
      KeptVectors::Kept kept;
      Launches launches;
    };
    const Placed placed = memory_.send([&] {
      cuda::Segment segment;
      const Piece outcome = coding_.begin();
      segment.n = input.n;
      segment.scale = input.scale;
      if (input.contributions.empty()) {
        segment.in = give(memory_, input.in, input.n);
      } else {
        place(input.contributions, outcome, segment);
        segment.out = memory_.room(nullptr, input.n * sizeof(float)).as<float>();
      }
      Placed all{outcome,
                 memory_.room(nullptr, meaning_.encoded_bound(input.n)),
                 kept_.keep(residual, input.n, true, segment),
                 {}};
      segment.payload = coding_.make(all.payload.as<unsigned char>(), input.n, outcome);
      give_numbers(segment, context);
      all.launches = coding_.launches(((*kernels_).*encoder)({&segment, 1}, context, memory_));
      return all;
    });
    run(placed.launches);
    const Bytes size = coding_.fetch(placed.payload, placed.outcome, payload);
    kept_.fetch(placed.kept, residual, input.n);
    return {size, says_finite(payload)};
  }

  void decode_into(ConstView payload, Elements n, bool add, float* out) const {
    const std::lock_guard lock(mutex_);
    const Contribution contribution{payload, nullptr};
    struct Placed {
      Piece outcome, out;
      Launches launches;
    };
    const Placed placed = memory_.send([&] {
      cuda::Segment segment;
      const Piece outcome = coding_.begin();
      segment.n = n;
      place({&contribution, 1}, outcome, segment);
      const Piece made = memory_.room(add ? out : nullptr, n * sizeof(float));
      segment.out = made.as<float>();
      return Placed{outcome, made, coding_.launches(kernels_->decode({&segment, 1}, add, memory_))};
    });
    run(placed.launches);
    memory_.read(placed.out, out);
    coding_.check(placed.outcome);
  }

  CudaDevice& device_;
  const Codec& meaning_;
  CodecInfo info_;
  std::unique_ptr<CodecKernels> kernels_;
  mutable std::mutex mutex_;  ///< guards all members below
  mutable StagedMemory memory_;
  const KeptVectors kept_{info_, memory_};
  const CodingAround coding_;
};

/// One with coded sections.
class CodedVectorCodec final : public VectorCodec, public PayloadCoding {
 public:
  CodedVectorCodec(CudaDevice& device, const Codec& meaning, std::unique_ptr<CodecKernels> kernels,
                   std::unique_ptr<PayloadCoder> coder)
      : VectorCodec(device, meaning, std::move(kernels), std::move(coder)), coding_(*coding_of(meaning)) {}

  const Codec& plain() const override { return coding_.plain(); }
  SectionPlaces places(Elements n) const override { return coding_.places(n); }
  std::span<const Coding> codings() const override { return coding_.codings(); }
  Status check_head(ConstView payload, Elements n) const override { return coding_.check_head(payload, n); }

 private:
  const PayloadCoding& coding_;
};

}  // namespace

Result<std::unique_ptr<CudaCodec>> make_cuda_codec(CudaDevice& device, const CudaModules& modules,
                                                   const CudaCodecText& text, const Codec& meaning) {
  if (std::holds_alternative<CudaRounds>(text)) return invalid_argument("a codec that exchanges within a step");
  const auto* tiles = std::get_if<CudaText>(&text);
  auto kernels = tiles != nullptr
                     ? make_tile_kernels(device, modules, *tiles, meaning.info())
                     : make_vector_form_kernels(device, modules, std::get<CudaVectorForm>(text), meaning.info());
  if (!kernels) return kernels.status();
  const PayloadCoding* const coding = coding_of(meaning);
  if (coding == nullptr) {
    return std::unique_ptr<CudaCodec>(std::make_unique<VectorCodec>(device, meaning, std::move(*kernels), nullptr));
  }
  auto coder = std::make_unique<PayloadCoder>(*coding);
  CASYNC_RETURN_IF_ERROR(coder->find(device, modules, name_of(text)));
  return std::unique_ptr<CudaCodec>(
      std::make_unique<CodedVectorCodec>(device, meaning, std::move(*kernels), std::move(coder)));
}

}  // namespace casync::compll
