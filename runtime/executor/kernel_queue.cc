// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/kernel_queue.h"

#include <array>

#include "compll/codec/kept.h"

namespace casync::runtime {

/// Kernels read floats of one vector while they write those of another.
Status KernelQueue::launch_keeping(const GradientRun& run, const compll::Codec& codec, KernelCall call) {
  if (call.kept_in.is_null()) return launch(codec, call);
  const Bytes bytes = call.n * bytes_of(run.kept.type());
  const DeviceView in = call.kept_in.slice(0, bytes), out = call.kept_out.slice(0, bytes);
  switch (run.kept.memory()) {
    case ResidualMemory::kTwoBuffers: return launch(codec, call);
    case ResidualMemory::kOneBuffer:
      call.kept_in = take_vector(bytes);
      CASYNC_RETURN_IF_ERROR(copy(in, call.kept_in));
      note_kept(call.kept_in);
      return launch(codec, call);
    case ResidualMemory::kBFloat16: break;
  }
  CASYNC_RETURN_IF_ERROR(widen(*run.codecs->kept, in, &call.kept_in));
  call.kept_out = take_vector(call.n * sizeof(float));
  CASYNC_RETURN_IF_ERROR(launch(codec, call));
  return round(*run.codecs->kept, compll::kept_context(call.context), call.kept_out, out);
}

/// Decodes elements of two bytes, of which the codec's payloads are.
Status KernelQueue::widen(const compll::Codec& codec, DeviceView elements, DeviceView* floats) {
  const KernelTerm term{take_vector(kDevicePayloadHead + elements.size()), {}};
  const Elements count = elements.size() / 2;
  *floats = take_vector(count * sizeof(float));
  CASYNC_RETURN_IF_ERROR(copy(elements, term.payload.slice(kDevicePayloadHead, elements.size())));
  KernelCall call;
  call.function = KernelFunction::kDecode;
  call.n = count;
  call.terms = {&term, 1};
  call.out = *floats;
  return launch(codec, call);
}

/// The reverse.
Status KernelQueue::round(const compll::Codec& codec, const compll::EncodeContext& context, DeviceView floats,
                          DeviceView memory) {
  KernelCall call;
  call.function = KernelFunction::kEncode;
  call.n = floats.size() / sizeof(float);
  call.in = floats;
  call.payload = take_vector(kDevicePayloadHead + memory.size());
  call.context = context;
  CASYNC_RETURN_IF_ERROR(launch(codec, call));
  return copy(call.payload.slice(kDevicePayloadHead, memory.size()), memory);
}

DecodedSlice KernelQueue::decoded(const GradientRun& run, Slice slice) {
  if (run.is_float32()) return {run.device.memory(slice), DType::kFloat32};
  if (run.codec(Hop::kFirst).info().has_result) return {take_vector(slice.count * sizeof(float)), DType::kFloat32};
  return {run.device.memory(slice), run.spec.dtype, not_finite()};
}

Status KernelQueue::end_decode(const GradientRun& run, Slice slice, const DecodedSlice& from) {
  const compll::Codec& first = run.codec(Hop::kFirst);
  if (!first.info().has_result) return Status::ok();
  KernelCall call = calls_.result(run, slice, from.memory);
  if (!run.is_float32()) call.not_finite = not_finite();
  return launch_keeping(run, first, call);
}

Status KernelQueue::begin_merge(const GradientRun& run, const Merge& merge, std::span<const KernelTerm> terms,
                                const compll::Codec* in, DeviceView outcome, KernelCall* call) {
  const compll::Codec& out = run.codec_of(merge.to);
  const Slice slice = run.buffers.of(merge.to).slice;
  *call = calls_.merge(run, merge);
  call->outcome = outcome;
  const DeviceView sum = take_vector(slice.count * sizeof(float));
  if (in == nullptr || are_alike(*in, out)) {
    call->terms = terms;
    call->out = sum;
    return Status::ok();
  }
  KernelCall add;
  add.function = KernelFunction::kDecode;
  add.n = slice.count;
  add.terms = terms;
  add.out = sum;
  add.outcome = outcome;
  CASYNC_RETURN_IF_ERROR(launch(*in, add));
  call->function = KernelFunction::kEncodeSum;
  call->in = sum;
  return Status::ok();
}

/// Makes whole numbers of the elements of an exchange, times `scale`, where it is one of whole numbers.
Status KernelQueue::make_whole(const RoundsRun& rounds, std::size_t exchange, float scale) {
  if (rounds.codec->info().exchanges[exchange] != compll::ExchangeKind::kElias) return Status::ok();
  KernelCall call;
  call.function = KernelFunction::kResult;
  call.n = rounds.shape.exchanged[exchange];
  call.in = call.out = rounds.exchanged()[exchange]->device();
  return launch(kernels_.whole(scale), call);
}

Status KernelQueue::turn(const GradientRun& run, std::uint32_t number) {
  const RoundsRun& rounds = *run.rounds;
  // As on the host (run_turn): sums get their scale after the last hop, and hops add what a rank gives.
  const float scale = calls_.last_scale(run);
  if (number > 0 && scale != 1) CASYNC_RETURN_IF_ERROR(make_whole(rounds, number - 1, scale));
  const Slice all{0, run.elements};
  std::array<DeviceView, compll::kMostRounds> exchanged;
  for (std::size_t i = 0; i < rounds.exchanged().size(); ++i) exchanged[i] = rounds.exchanged()[i]->device();
  TurnCall call = calls_.turn(run, number);
  call.exchanged = {exchanged.data(), rounds.exchanged().size()};
  call.gradient = run.device.memory(all);
  if (!run.is_float32()) CASYNC_RETURN_IF_ERROR(widen(run.codec(Hop::kRaw), call.gradient, &call.gradient));
  const bool last = number == rounds.exchanges().size();
  if (last) call.out = call.gradient;
  CASYNC_RETURN_IF_ERROR(queue(kernels_.of(*rounds.codec), call));
  if (!last) return make_whole(rounds, number, 1);
  if (run.is_float32()) return Status::ok();
  const KernelTerm floats{{}, call.out};
  const DecodedSlice result{run.device.memory(all), run.spec.dtype, not_finite()};
  return launch(run.codec(Hop::kRaw), KernelCalls::decode(all, {&floats, 1}, result));
}

}  // namespace casync::runtime
