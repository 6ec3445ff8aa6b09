// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/host/host_kernels.h"

#include <array>
#include <span>
#include <vector>

#include "compll/codec/coded/coded_codec.h"
#include "compll/codec/payload.h"
#include "compll/ops/cpu/convert.h"
#include "runtime/device/host/host_view.h"

namespace casync::runtime {
namespace {

float* floats(DeviceView view) { return reinterpret_cast<float*>(view.address()); }

class HostKernels final : public CodecKernels {
 public:
  explicit HostKernels(const compll::Codec& codec) : codec_(codec) {}

  Result<KernelRoom> room(std::span<const KernelCall> batch) override {
    for (const KernelCall& call : batch) terms_.reserve(call.terms.size());
    return KernelRoom();
  }

  Status issue(std::span<const KernelCall> batch, DeviceView, View, Stream&) override {
    for (const KernelCall& call : batch) run(call);
    return Status::ok();
  }

 private:
  void run(const KernelCall& call) {
    if (!check_terms(call)) return;
    switch (call.function) {
      case KernelFunction::kEncode:
        end(codec_.encode(widened(call.in, call.in_type, call.n, in_), call.n, kept(call), call.context, payload(call)),
            call);
        break;
      case KernelFunction::kEncodeSum:
        end(codec_.encode_sum(floats(call.in), call.scale, call.n, kept(call), call.context, payload(call)), call);
        break;
      case KernelFunction::kMerge:
        take_terms(call);
        end(codec_.merge(terms_, call.n, call.scale, codec_, kept(call), call.context, payload(call)), call);
        break;
      case KernelFunction::kDecode: decode(call); break;
      case KernelFunction::kResult:
        codec_.result(floats(call.in), call.n, kept(call), call.context, floats_for(call));
        round_into(call);
        break;
    }
  }

  /// The elements as float32: themselves, or in `memory`.
  static const float* widened(DeviceView view, DType dtype, Elements n, std::vector<float>& memory) {
    if (dtype == DType::kFloat32) return floats(view);
    memory.resize(n);
    compll::to_float32(dtype, host_view(view).data, n, memory.data());
    return memory.data();
  }
  /// The memory of results: the call's, or that from which round_into() rounds them.
  float* floats_for(const KernelCall& call) {
    if (call.out_type == DType::kFloat32) return floats(call.out);
    out_.resize(call.n);
    return out_.data();
  }
  void round_into(const KernelCall& call) const {
    if (call.out_type == DType::kFloat32) return;
    const bool finite = compll::from_float32(out_.data(), call.n, call.out_type, host_view(call.out).data);
    if (!finite && !call.not_finite.is_null()) *reinterpret_cast<KernelWord*>(host_view(call.not_finite).data) = 1;
  }

  static compll::Residual kept(const KernelCall& call) {
    return {floats(call.kept_in), floats(call.kept_out), call.kept_stride};
  }
  std::byte* payload(const KernelCall& call) const {
    return host_view(call.payload).data + (codec_.info().identity ? kDevicePayloadHead : 0);
  }
  static KernelOutcome* outcome(const KernelCall& call) {
    return call.outcome.is_null() ? nullptr : reinterpret_cast<KernelOutcome*>(host_view(call.outcome).data);
  }
  /// Looks at payloads with coded sections, of which nobody has. False: one is none.
  bool check_terms(const KernelCall& call) const {
    if (!compll::size_varies(codec_)) return true;
    for (const KernelTerm& term : call.terms) {
      if (term.payload.is_null() || codec_.check(host_view(term.payload), call.n)) continue;
      outcome(call)->fault = 1;
      return false;
    }
    return true;
  }
  void end(const compll::Encoded& made, const KernelCall& call) const {
    if (compll::size_varies(codec_)) outcome(call)->bytes = made.size;
    if (codec_.info().identity) compll::write_header({}, made.finite, host_view(call.payload).data);
  }
  void take_terms(const KernelCall& call) {
    terms_.clear();
    raw_.resize(call.terms.size());
    for (std::size_t i = 0; i < call.terms.size(); ++i) {
      const KernelTerm& term = call.terms[i];
      terms_.push_back({host_view(term.payload), widened(term.raw, term.raw_type, call.n, raw_[i])});
    }
  }
  void decode(const KernelCall& call) {
    float* const out = floats_for(call);
    bool begun = false;
    for (const KernelTerm& term : call.terms) {
      if (!term.raw.is_null()) {
        const float* const raw = widened(term.raw, term.raw_type, call.n, in_);
        for (Elements i = 0; i < call.n; ++i) out[i] = begun ? out[i] + raw[i] : raw[i];
      } else {
        const ConstView code = host_view(term.payload);
        begun ? codec_.decode_add(code, call.n, out) : codec_.decode(code, call.n, out);
      }
      begun = true;
    }
    round_into(call);
  }

  const compll::Codec& codec_;
  std::vector<compll::Contribution> terms_;
  std::vector<float> in_, out_;  ///< of half precision, widened and not yet rounded
  std::vector<std::vector<float>> raw_;
};

class HostTurns final : public TurnKernels {
 public:
  explicit HostTurns(const compll::RoundsCodec& codec) : codec_(codec) {}

  Result<Elements> scratch(Elements rows, Elements columns) override { return codec_.shape(rows, columns).scratch; }
  Result<KernelRoom> room(const TurnCall&) override { return KernelRoom(); }

  Status issue(const TurnCall& call, DeviceView, View, Stream&) override {
    std::array<float*, compll::kMostRounds> exchanged{};
    for (std::size_t i = 0; i < call.exchanged.size(); ++i) exchanged[i] = floats(call.exchanged[i]);
    codec_.turn({.number = call.number,
                 .rows = call.rows,
                 .columns = call.columns,
                 .gradient = floats(call.gradient),
                 .exchanged = {exchanged.data(), call.exchanged.size()},
                 .states_in = floats(call.kept_in),
                 .states_out = floats(call.kept_out),
                 .scratch = floats(call.scratch),
                 .out = floats(call.out)},
                call.context);
    return Status::ok();
  }

 private:
  const compll::RoundsCodec& codec_;
};

}  // namespace

std::unique_ptr<TurnKernels> make_host_turns(const compll::RoundsCodec& codec) {
  return std::make_unique<HostTurns>(codec);
}

std::unique_ptr<CodecKernels> make_host_kernels(const compll::Codec& codec) {
  return std::make_unique<HostKernels>(codec);
}

}  // namespace casync::runtime
