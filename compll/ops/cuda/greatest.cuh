// SPDX-License-Identifier: Apache-2.0
//
// The vector of a merge that takes the greatest of each element instead of the sum: in place of Merged in the kernels
// of an identity (cuda_greatest_text).
#pragma once

#include "compll/ops/cuda/work.cuh"

namespace casync::compll::cuda {

/// The greater of two elements, NaN if one is NaN. Of equal ones it is the first: zeros differ in their sign.
COMPLL_BOTH float greater_or_nan(float top, float other) { return other > top || other != other ? other : top; }

/// The greatest of each element over all contributions, in their order. It has no scale.
template <class Decoder>
class Greatest {
 public:
  static constexpr bool kRotates = Decoder::kRotates;
  __device__ Greatest(const Launch& launch, const Segment& segment)
      : settings_(launch.codec), at_(segment.n, settings_.log2_block), segment_(segment) {}
  __device__ bool is_aligned() const { return true; }
  __device__ __forceinline__ void ask_for(uint64_t first, uint64_t count) const {
    ask_for_contributions<Decoder>(at_, segment_, first, count);
  }
  __device__ __forceinline__ Quad<float> quad(uint64_t i, uint32_t rest) const {
    Quad<float> top = {};
#pragma unroll 1
    for (uint32_t c = 0; c < segment_.contribution_count; ++c) {
      const Quad<float> own = term(c, i, rest);
#pragma unroll
      for (uint32_t k = 0; k < 4; ++k) top[k] = c == 0 ? own[k] : greater_or_nan(top[k], own[k]);
    }
    return top;
  }
  __device__ __forceinline__ void rows(Rows& tops, uint64_t i, uint32_t stride) const {
#pragma unroll
    for (uint32_t r = 0; r < kRowsAtOnce; ++r) tops[r] = quad(i + r * stride, kWholeRow);
  }

 private:
  /// Four neighbours of a contribution.
  __device__ __forceinline__ Quad<float> term(uint32_t c, uint64_t i, uint32_t rest) const {
    const Contribution& from = in_global(segment_.contributions)[c];
    if (from.raw != nullptr) return Elements(from.raw, from.raw_type).template quad<Exact>(i, rest);
    return Decoder(settings_, at_, from.payload, segment_.n).template quad<Exact>(i, 0, rest);
  }

  const Settings& settings_;
  const typename Decoder::Sections at_;
  const Segment& segment_;
};

}  // namespace casync::compll::cuda
