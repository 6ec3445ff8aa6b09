// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/kernel_queue.h"

#include <array>

#include "runtime/executor/task_runner.h"

namespace casync::runtime {

using Use = GradientRun::KeptBy;

KernelCall KernelQueue::call_of(const GradientRun& run, KernelFunction function, const compll::Codec& codec, Use use,
                                Slice slice) const {
  KernelCall call;
  call.function = function;
  call.n = slice.count;
  call.context = context_of(run, codec.info(), use, slice, settings_.seed);
  const GradientRun::DeviceKept kept = run.device_kept(codec, use, slice);
  call.kept_in = kept.in;
  call.kept_out = kept.out;
  call.kept_stride = kept.stride;
  return call;
}

/// Copies what a kernel reads of the one buffer that it writes.
Status KernelQueue::keep_apart(KernelCall& call) {
  if (call.kept_in.is_null() || call.kept_in.address() != call.kept_out.address()) return Status::ok();
  const DeviceView before = take_vector(call.n * sizeof(float));
  CASYNC_RETURN_IF_ERROR(copy(call.kept_in.slice(0, before.size()), before));
  call.kept_in = before;
  return Status::ok();
}

Status KernelQueue::read_gradient(const GradientRun& run, Slice slice, DeviceView* floats) {
  const DeviceView memory = run.device_memory(slice);
  if (run.is_float32()) {
    *floats = memory;
    return Status::ok();
  }
  const KernelTerm term{take_vector(kDevicePayloadHead + memory.size()), {}};
  *floats = take_vector(slice.count * sizeof(float));
  CASYNC_RETURN_IF_ERROR(copy(memory, term.payload.slice(kDevicePayloadHead, memory.size())));
  KernelCall call;
  call.function = KernelFunction::kDecode;
  call.n = slice.count;
  call.terms = {&term, 1};
  call.out = *floats;
  return launch(run.codec(Hop::kRaw), call);
}

/// The reverse: rounds `floats` to the gradient's type.
Status KernelQueue::narrow(const GradientRun& run, DeviceView floats, DeviceView memory) {
  KernelCall call;
  call.function = KernelFunction::kEncode;
  call.n = floats.size() / sizeof(float);
  call.in = floats;
  call.payload = take_vector(kDevicePayloadHead + memory.size());
  CASYNC_RETURN_IF_ERROR(launch(run.codec(Hop::kRaw), call));
  return copy(call.payload.slice(kDevicePayloadHead, memory.size()), memory);
}

DeviceView KernelQueue::decoded(const GradientRun& run, Slice slice) {
  return run.is_float32() ? run.device_memory(slice) : take_vector(slice.count * sizeof(float));
}

KernelCall KernelQueue::result_call(const GradientRun& run, Slice slice, DeviceView floats) const {
  KernelCall call = call_of(run, KernelFunction::kResult, run.codec(Hop::kFirst), Use::kResult, slice);
  call.context = {settings_.seed, run.key, run.step, slice.first};
  call.out = floats;
  return call;
}

Status KernelQueue::end_decode(const GradientRun& run, Slice slice, DeviceView floats) {
  const compll::Codec& first = run.codec(Hop::kFirst);
  if (first.info().has_result) {
    CASYNC_RETURN_IF_ERROR(launch(first, result_call(run, slice, floats)));
  }
  return run.is_float32() ? Status::ok() : narrow(run, floats, run.device_memory(slice));
}

Status KernelQueue::begin_merge(const GradientRun& run, const Merge& merge, std::span<const KernelTerm> terms,
                                const compll::Codec* in, KernelCall* call) {
  const compll::Codec& out = run.codec_of(merge.to);
  const Slice slice = run.slice_of(merge.to);
  // A sum on its way to the owner is a contribution there, as a gradient is.
  const Use use = run.hop_of(merge.to) == Hop::kFirst ? Use::kEncode : Use::kMerge;
  *call = call_of(run, KernelFunction::kMerge, out, use, slice);
  call->scale = merge.last ? run.scale_or(settings_.scale) : 1.0f;
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
  CASYNC_RETURN_IF_ERROR(launch(*in, add));
  call->function = KernelFunction::kEncodeSum;
  call->in = sum;
  return Status::ok();
}

Status KernelQueue::turn(const GradientRun& run, std::uint32_t number) {
  const RoundsRun& rounds = *run.rounds;
  const Slice all{0, run.elements};
  std::array<DeviceView, compll::kMostRounds> exchanged;
  for (std::size_t i = 0; i < rounds.exchanged.size(); ++i) exchanged[i] = rounds.exchanged[i]->device();
  TurnCall call;
  call.number = number;
  call.rows = rounds.rows;
  call.columns = rounds.columns;
  CASYNC_RETURN_IF_ERROR(read_gradient(run, all, &call.gradient));
  call.exchanged = {exchanged.data(), rounds.exchanged.size()};
  call.kept_in = run.kept_data[run.committed];
  call.kept_out = run.kept_data[1 - run.committed];
  call.scratch = rounds.scratch->device();
  call.context = context_of(run, rounds.codec->info(), Use::kEncode, all, settings_.seed);
  const bool last = number == rounds.exchanges.size();
  if (last) call.out = call.gradient;
  CASYNC_RETURN_IF_ERROR(queue(kernels_.of(*rounds.codec), call));
  return last && !run.is_float32() ? narrow(run, call.out, run.device_memory(all)) : Status::ok();
}

}  // namespace casync::runtime
