// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "base/units.h"
#include "casync/primitives/primitive.h"
#include "compll/codec/codec.h"
#include "runtime/device/codec_kernels.h"
#include "runtime/executor/gradient_run.h"

namespace casync::runtime {

/// The states that a merge into this buffer keeps. A sum on its way to the owner is a contribution there, as a gradient
/// is.
inline KeptBy kept_by_merge(const GradientRun& run, BufferId to) {
  return run.buffers.of(to).hop == Hop::kFirst ? KeptBy::kEncode : KeptBy::kMerge;
}

/// A slice of the gradient as a term of a sum.
inline KernelTerm own_term(const GradientRun& run, Slice slice) {
  return {{}, run.device.memory(slice), run.spec.dtype};
}

/// Memory for a decoded slice.
struct DecodedSlice {
  DeviceView memory;
  DType dtype = DType::kFloat32;
  DeviceView not_finite = {};  ///< as KernelCall::not_finite
};

/// Makes calls of kernels for a gradient's tasks: on its own elements, with what its codecs keep, and with their random
/// numbers. The caller gives a call its payloads, terms and all other memory.
class KernelCalls {
 public:
  struct Settings {
    std::uint64_t seed = 0;
    float scale = 1;  ///< of the last merge
  };
  explicit KernelCalls(const Settings& settings) : settings_(settings) {}

  /// The scale of the gradient's last merge.
  float last_scale(const GradientRun& run) const { return run.scale.scale_or(settings_.scale); }
  /// A call on a slice, with the codec's states there.
  KernelCall of(const GradientRun& run, KernelFunction function, const compll::Codec& codec, KeptBy use,
                Slice slice) const;
  /// Encodes a slice of the gradient.
  KernelCall encode(const GradientRun& run, const compll::Codec& codec, Slice slice) const;
  /// Encodes the sum of terms, scaled if it is the last merge.
  KernelCall merge(const GradientRun& run, const Merge& merge) const;
  /// Decodes one payload.
  static KernelCall decode(Slice slice, std::span<const KernelTerm> term, const DecodedSlice& to);
  /// Applies the codec's `result` to a decoded slice, and makes the gradient's elements.
  KernelCall result(const GradientRun& run, Slice slice, DeviceView floats) const;
  /// A turn of a codec that exchanges within a step. The caller gives it the elements and what is exchanged.
  TurnCall turn(const GradientRun& run, std::uint32_t number) const;

 private:
  const Settings settings_;
};

}  // namespace casync::runtime
