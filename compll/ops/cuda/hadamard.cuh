// SPDX-License-Identifier: Apache-2.0
//
// The orthonormal Walsh-Hadamard matrix times blocks of elements in a warp's row: a thread has four neighbours, other
// threads the other elements of a block.
#pragma once

#include "compll/ops/cuda/reducers.cuh"

namespace casync::compll::cuda {

/// The power of two that element `at` of a short block of `size` elements is rotated with: the block is cut into the
/// largest ones, the largest first, so it is the highest bit in which the two differ.
COMPLL_BOTH uint32_t rotated_with(uint32_t at, uint32_t size) {
  uint32_t bits = at ^ size;
#pragma unroll
  for (uint32_t by = 1; by < 32; by *= 2) bits |= bits >> by;
  return bits - (bits >> 1);
}

/// 1 / sqrt(size) of a power of two.
COMPLL_BOTH float orthonormal_scale(uint32_t size) {
  const uint32_t log2 = (bits(static_cast<float>(size)) >> 23) - 127;
  const uint32_t half = log2 / 2 << 23;
  return from_bits((log2 % 2 == 0 ? 0x3f800000u : 0x3f3504f3u) - half);
}

/// Transforms short blocks, and keeps the bits of a NaN. Elements after the last one have any value. Out of line: it is
/// rare, and its text would be repeated often.
inline __device__ __noinline__ Quad<float> rotated_exactly(Quad<float> x, uint32_t block, uint64_t i, uint64_t n) {
  Quad<uint32_t> size;
#pragma unroll
  for (uint32_t k = 0; k < 4; ++k) {
    const uint32_t within = static_cast<uint32_t>(i + k) & (block - 1);
    const uint64_t here = n - (i + k - within);  // from the beginning of its block on; behind n it wraps around
    size[k] = here >= block ? block : rotated_with(within, static_cast<uint32_t>(here));
  }
#pragma unroll 1
  for (uint32_t half = 1; half < block; half *= 2) {
    Quad<float> other;
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) {
      const float of_thread = half == 1 ? x[k ^ 1] : x[k ^ 2];
      const float of_warp = __shfl_xor_sync(kWholeWarp, x[k], static_cast<int>(half / 4));
      other[k] = half < 4 ? of_thread : of_warp;
    }
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) {
      if (half >= size[k]) continue;
      x[k] = ((i + k) & half) == 0 ? add(x[k], other[k]) : subtract(other[k], x[k]);
    }
  }
#pragma unroll
  for (uint32_t k = 0; k < 4; ++k) x[k] = multiply(x[k], orthonormal_scale(size[k]));
  return x;
}

/// Transforms blocks of one size, a power of two from kLeast to kMost, which is a row at most.
template <uint32_t kLeast, uint32_t kMost>
class Hadamard {
  static_assert(kMost <= kRow);

 public:
  COMPLL_BOTH explicit Hadamard(uint32_t block) : block_(block), scale_(orthonormal_scale(block)) {}

  /// Returns four transformed neighbours at i, of n elements. All threads of a warp call it together, with a row. With
  /// Plain numbers the caller looks for NaN in the result; `kIsWhole` says that n is not within the row.
  template <bool kIsWhole, class Numbers>
  __device__ __forceinline__ Quad<float> rotated(Numbers, const Quad<float>& x, uint64_t i, uint64_t n) const {
    if (kIsWhole || i - 4 * lane() + kRow <= n) {
      const Quad<float> y = in_whole_row(x);
      if (!Numbers::kIsExact) return y;
      const bool nan = (y[0] != y[0]) | (y[1] != y[1]) | (y[2] != y[2]) | (y[3] != y[3]);
      if (!__any_sync(kWholeWarp, nan)) return y;
    }
    return rotated_exactly(x, block_, i, n);
  }

 private:
  /// Returns true if elements `half` apart are added: mostly known when it is compiled.
  COMPLL_BOTH bool has_stage(uint32_t half) const { return half < kLeast || (half < kMost && half < block_); }
  static __device__ uint32_t lane() { return threadIdx.x % kLanes; }

  __device__ __forceinline__ Quad<float> in_whole_row(Quad<float> x) const {
    if (has_stage(1)) x = {{x[0] + x[1], x[0] - x[1], x[2] + x[3], x[2] - x[3]}};
    if (has_stage(2)) x = {{x[0] + x[2], x[1] + x[3], x[0] - x[2], x[1] - x[3]}};
#pragma unroll
    for (uint32_t by = 1; by < kLanes; by *= 2) {
      if (!has_stage(4 * by)) continue;
      // The product is exact: as a multiply-add it is the sum in one instruction, or the difference.
      const float sign = (lane() & by) == 0 ? 1.0f : -1.0f;
#pragma unroll
      for (uint32_t k = 0; k < 4; ++k) {
        x[k] = fmaf(x[k], sign, __shfl_xor_sync(kWholeWarp, x[k], static_cast<int>(by)));
      }
    }
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) x[k] *= scale_;
    return x;
  }

  uint32_t block_;
  float scale_;
};

}  // namespace casync::compll::cuda
