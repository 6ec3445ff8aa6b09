// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/kept_slice.h"

#include <algorithm>
#include <cstring>

#include "compll/codec/kept.h"
#include "compll/codec/payload.h"
#include "compll/ops/cpu/convert.h"
#include "runtime/device/host/host_view.h"

namespace casync::runtime {

const float* float_values(const TaskPart& part, Slice slice, Scratch& scratch) {
  const View memory = part.memory(slice);
  if (part.is_float32()) return reinterpret_cast<const float*>(memory.data);
  compll::to_float32(part.dtype, memory.data, slice.count, scratch.values.data());
  return scratch.values.data();
}

KeptSlice::KeptSlice(const HopCodecs& codecs, const TaskPart& part, const compll::Codec& codec, KeptBy use, Slice slice,
                     Scratch& scratch)
    : count_(slice.count), scratch_(scratch) {
  const KeptState::Slices kept = part.kept.of(codec, use, slice);
  if (kept.in.is_null()) return;
  const std::byte* const in = host_view(kept.in).data;
  out_ = host_view(kept.out).data;
  if (part.kept.type == DType::kBFloat16) {
    rounding_ = codecs.kept.get();
    compll::to_float32(DType::kBFloat16, in, count_, scratch.kept_in.data());
    floats_ = {scratch.kept_in.data(), scratch.kept_out.data(), count_};
    return;
  }
  floats_ = {reinterpret_cast<const float*>(in), reinterpret_cast<float*>(out_), kept.stride};
  if (in != out_) return;
  std::copy_n(floats_.in, count_, scratch.kept_in.data());
  floats_.in = scratch.kept_in.data();
}

void KeptSlice::round(const compll::EncodeContext& context) const {
  std::byte* const code = scratch_.kept_code.data();
  static_cast<void>(rounding_->encode(floats_.out, count_, {}, compll::kept_context(context), code));
  std::memcpy(out_, code + compll::kHeaderBytes, count_ * bytes_of(DType::kBFloat16));
}

}  // namespace casync::runtime
