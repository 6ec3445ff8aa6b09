// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "base/units.h"
#include "runtime/device/codec_kernels.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/executor/kernel_table.h"

namespace casync::runtime {

/// The states that a merge into this buffer keeps. A sum on its way to the owner is a contribution there, as a gradient
/// is.
inline GradientRun::KeptBy kept_by_merge(const GradientRun& run, BufferId to) {
  return run.buffers.of(to).hop == Hop::kFirst ? GradientRun::KeptBy::kEncode : GradientRun::KeptBy::kMerge;
}

/// The part of a gradient's tasks on a device that does not depend on the way in which payloads travel: gradients' own
/// elements, what codecs keep, sums of contributions, turns. Who derives from it says where vectors lie and
/// where kernels and copies are queued; before a step it may only find out how much room they take.
///
/// Threads: the progress thread. Errors: those of the derived class.
class KernelQueue {
 protected:
  struct Settings {
    std::uint64_t seed = 0;
    float scale = 1;  ///< of the last merge
  };

  /// Borrows `kernels`, which has the codecs of all gradients and outlives this.
  KernelQueue(const KernelTable& kernels, const Settings& settings) : kernels_(kernels), settings_(settings) {}
  ~KernelQueue() = default;

  /// Memory on the device until the task has ended.
  virtual DeviceView take_vector(Bytes bytes) = 0;
  virtual Status copy(DeviceView from, DeviceView to) = 0;
  /// Tells that one buffer's residual has been copied to `copy`, where it stays as it was until the task has ended.
  virtual void note_kept(DeviceView /*copy*/) {}
  virtual Status queue(CodecKernels& kernels, std::span<const KernelCall> batch) = 0;
  virtual Status queue(TurnKernels& kernels, const TurnCall& call) = 0;

  Status launch(const compll::Codec& codec, const KernelCall& call) { return launch_all(codec, {&call, 1}); }
  Status launch_all(const compll::Codec& codec, std::span<const KernelCall> batch) {
    return queue(kernels_.of(codec), batch);
  }
  /// The same for a call_of() this gradient, which keeps what it keeps as the plan says.
  Status launch_keeping(const GradientRun& run, const compll::Codec& codec, KernelCall call);
  /// A call on a slice, with the codec's states there.
  KernelCall call_of(const GradientRun& run, KernelFunction function, const compll::Codec& codec,
                     GradientRun::KeptBy use, Slice slice) const;

  /// The call that encodes a slice of the gradient. The caller sets `payload`.
  KernelCall encode_call(const GradientRun& run, const compll::Codec& codec, Slice slice) const;
  /// A slice of the gradient as a term of a sum.
  KernelTerm own_term(const GradientRun& run, Slice slice) const {
    return {{}, run.device.memory(slice), run.spec.dtype};
  }
  /// Memory for a decoded slice: the gradient's own, or float32 for a result of half precision that end_decode() makes.
  struct Decoded {
    DeviceView memory;
    DType dtype = DType::kFloat32;
  };
  Decoded decoded(const GradientRun& run, Slice slice);
  /// The call that decodes one payload into it.
  KernelCall decode_call(Slice slice, std::span<const KernelTerm> term, const Decoded& to) const;
  /// The call that applies the codec's `result` to a decoded slice, and makes the gradient's elements.
  KernelCall result_call(const GradientRun& run, Slice slice, DeviceView floats) const;
  /// True if codes of `in` are codes of `out`.
  bool are_alike(const compll::Codec& in, const compll::Codec& out) const {
    return &kernels_.of(in) == &kernels_.of(out);
  }
  /// Applies the codec's `result` to a decoded slice, if it has one.
  Status end_decode(const GradientRun& run, Slice slice, const Decoded& from);
  /// Makes the call that encodes the sum of `terms` for `merge`. `in`: the codec of those that are codes; null: none
  /// is. `outcome`: of coding, in all calls of the task.
  Status begin_merge(const GradientRun& run, const Merge& merge, std::span<const KernelTerm> terms,
                     const compll::Codec* in, DeviceView outcome, KernelCall* call);
  /// One turn of a codec that exchanges within a step. The last one makes the result.
  Status turn(const GradientRun& run, std::uint32_t number);

 private:
  /// Passes of their own over elements of two bytes, by the codec of their type, whose payload is a head and the
  /// elements: for turns, and for what is kept as bfloat16.
  Status widen(const compll::Codec& codec, DeviceView elements, DeviceView* floats);
  Status round(const compll::Codec& codec, const compll::EncodeContext& context, DeviceView floats, DeviceView memory);

  const KernelTable& kernels_;
  const Settings settings_;
};

}  // namespace casync::runtime
