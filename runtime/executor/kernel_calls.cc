// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/kernel_calls.h"

#include "runtime/executor/task_runner.h"

namespace casync::runtime {

KernelCall KernelCalls::of(const GradientRun& run, KernelFunction function, const compll::Codec& codec, KeptBy use,
                           Slice slice) const {
  KernelCall call;
  call.function = function;
  call.n = slice.count;
  call.context = context_of(run, codec.info(), use, slice, settings_.seed);
  const KeptState::Slices kept = run.kept.of(codec, use, slice);
  call.kept_in = kept.in;
  call.kept_out = kept.out;
  call.kept_stride = kept.stride;
  return call;
}

KernelCall KernelCalls::encode(const GradientRun& run, const compll::Codec& codec, Slice slice) const {
  KernelCall call = of(run, KernelFunction::kEncode, codec, KeptBy::kEncode, slice);
  call.in = run.device.memory(slice);
  call.in_type = run.spec.dtype;
  return call;
}

KernelCall KernelCalls::merge(const GradientRun& run, const Merge& merge) const {
  const compll::Codec& codec = run.codec_of(merge.to);
  KernelCall call =
      of(run, KernelFunction::kMerge, codec, kept_by_merge(run, merge.to), run.buffers.of(merge.to).slice);
  call.scale = merge.last ? last_scale(run) : 1.0f;
  return call;
}

KernelCall KernelCalls::decode(Slice slice, std::span<const KernelTerm> term, const DecodedSlice& to) {
  KernelCall call;
  call.function = KernelFunction::kDecode;
  call.n = slice.count;
  call.terms = term;
  call.out = to.memory;
  call.out_type = to.dtype;
  call.not_finite = to.not_finite;
  return call;
}

KernelCall KernelCalls::result(const GradientRun& run, Slice slice, DeviceView floats) const {
  KernelCall call = of(run, KernelFunction::kResult, run.codec(Hop::kFirst), KeptBy::kResult, slice);
  call.context = {settings_.seed, run.key, run.step.number(), slice.first};
  if (run.kept.memory() == ResidualMemory::kBFloat16) {
    call.kept_in = call.kept_out = {};  // those are residuals, of which no result is made
  }
  call.in = floats;
  call.out = run.device.memory(slice);
  call.out_type = run.spec.dtype;
  return call;
}

TurnCall KernelCalls::turn(const GradientRun& run, std::uint32_t number) const {
  const RoundsRun& rounds = *run.rounds;
  TurnCall call;
  call.number = number;
  call.rows = rounds.rows;
  call.columns = rounds.columns;
  const KeptState::Slices kept = run.kept.from(0);
  call.kept_in = kept.in;
  call.kept_out = kept.out;
  call.scratch = rounds.scratch()->device();
  call.context = context_of(run, rounds.codec->info(), KeptBy::kEncode, {0, run.elements}, settings_.seed);
  return call;
}

}  // namespace casync::runtime
