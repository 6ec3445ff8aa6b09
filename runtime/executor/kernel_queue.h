// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "base/units.h"
#include "runtime/device/codec_kernels.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/executor/kernel_calls.h"
#include "runtime/executor/kernel_table.h"

namespace casync::runtime {

/// The part of a gradient's tasks on a device that does not depend on the way in which payloads travel: launches of
/// KernelCalls with residuals and states, sums of contributions, results, turns. A derived class says where vectors lie
/// and where kernels and copies are queued; ahead of a step it only finds out how much room they take.
///
/// Threads: the progress thread. Errors: those of the derived class.
class KernelQueue {
 protected:
  /// Borrows `kernels`, which has the codecs of all gradients and outlives this.
  KernelQueue(const KernelTable& kernels, const KernelCalls::Settings& settings)
      : kernels_(kernels), calls_(settings) {}
  ~KernelQueue() = default;

  /// Memory on the device until the task has ended.
  virtual DeviceView take_vector(Bytes bytes) = 0;
  virtual Status copy(DeviceView from, DeviceView to) = 0;
  /// Tells that one buffer's residual has been copied to `copy`, where it stays as it was until the task has ended.
  virtual void note_kept(DeviceView /*copy*/) {}
  /// The word that says of the task under way if its results of half precision are finite, as KernelCall::not_finite.
  virtual DeviceView not_finite() { return {}; }
  virtual Status queue(CodecKernels& kernels, std::span<const KernelCall> batch) = 0;
  virtual Status queue(TurnKernels& kernels, const TurnCall& call) = 0;

  const KernelCalls& calls() const { return calls_; }
  Status launch(const compll::Codec& codec, const KernelCall& call) { return launch_all(codec, {&call, 1}); }
  Status launch_all(const compll::Codec& codec, std::span<const KernelCall> batch) {
    return queue(kernels_.of(codec), batch);
  }
  /// The same for a call of this gradient, which keeps what it keeps as the plan says.
  Status launch_keeping(const GradientRun& run, const compll::Codec& codec, KernelCall call);
  /// True if codes of `in` are codes of `out`.
  bool are_alike(const compll::Codec& in, const compll::Codec& out) const {
    return &kernels_.of(in) == &kernels_.of(out);
  }

  /// Memory for a decoded slice: the gradient's own, or float32 for a result of half precision that end_decode() makes.
  DecodedSlice decoded(const GradientRun& run, Slice slice);
  /// Applies the codec's `result` to a decoded slice, if it has one.
  Status end_decode(const GradientRun& run, Slice slice, const DecodedSlice& from);
  /// Makes the call that encodes the sum of `terms` for `merge`. `in`: the codec of those that are codes; null: none
  /// is. `outcome`: of coding, in all calls of the task.
  Status begin_merge(const GradientRun& run, const Merge& merge, std::span<const KernelTerm> terms,
                     const compll::Codec* in, DeviceView outcome, KernelCall* call);
  /// One turn of a codec that exchanges within a step. The last one makes the result.
  Status turn(const GradientRun& run, std::uint32_t number);

 private:
  /// Passes of their own over elements of two bytes, by the codec of their type, whose payload is a head and the
  /// elements: widen() for turns, and both for what is kept as bfloat16.
  Status widen(const compll::Codec& codec, DeviceView elements, DeviceView* floats);
  Status round(const compll::Codec& codec, const compll::EncodeContext& context, DeviceView floats, DeviceView memory);
  Status make_whole(const RoundsRun& rounds, std::size_t exchange, float scale);

  const KernelTable& kernels_;
  const KernelCalls calls_;
};

}  // namespace casync::runtime
