// SPDX-License-Identifier: Apache-2.0
//
// Elements of gradients in memory: float32, float16 or bfloat16. Kernels load them as float32, which is exact, and
// round what they store to nearest even: the bits are the host's (compll/ops/cpu/convert.h), also of NaN. Each access
// branches on the type, which all threads of a tile have in common.
#pragma once

#include "compll/ops/cuda/nan.cuh"
#include "compll/ops/cuda/packing.cuh"

namespace casync::compll::cuda {

/// Rows that a warp loads at once.
inline constexpr uint32_t kRowsAtOnce = 4;
/// The four neighbours of a thread in each of so many rows.
using Rows = Quad<float>[kRowsAtOnce];

/// Widens float16. Arithmetic: with Plain a NaN may have other bits.
template <class Arithmetic>
COMPLL_BOTH float from_float16(uint32_t code) {
  const uint32_t sign = (code & 0x8000u) << 16, magnitude = code & 0x7fffu;
  if (Arithmetic::kIsExact && magnitude > 0x7c00u) return from_bits(sign | 0x7fc00000u | (magnitude & 0x3ffu) << 13);
#ifdef __CUDA_ARCH__
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(static_cast<unsigned short>(code)));
  return x;
#else
  const float least_step = 0x1p-24f;
  const uint32_t x = magnitude < 0x400u    ? bits(static_cast<float>(magnitude) * least_step)
                     : magnitude < 0x7c00u ? (magnitude << 13) + 0x38000000u
                                           : (magnitude << 13) | 0x7f800000u;
  return from_bits(sign | x);
#endif
}
COMPLL_BOTH float from_bfloat16(uint32_t code) { return from_bits(code << 16); }

/// Rounds to float16: infinite from 65520 on.
COMPLL_BOTH uint32_t to_float16(float x) {
  const uint32_t sign = bits(x) >> 16 & 0x8000u, magnitude = bits(x) & 0x7fffffffu;
  if (x != x) return sign | 0x7e00u | (magnitude >> 13 & 0x3ffu);
#ifdef __CUDA_ARCH__
  unsigned short code;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(code) : "f"(x));
  return code;
#else
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;
  // A sum with 0.5 is rounded to a multiple of float16's least step.
  if (magnitude < 0x38800000u) return sign | (bits(from_bits(magnitude) + 0.5f) - bits(0.5f));
  return sign | ((magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13);
#endif
}
COMPLL_BOTH uint32_t to_bfloat16(float x) {
  if (x != x) return bits(x) >> 16 | 0x40u;  // rounding could carry NaN into infinity
  return (bits(x) + 0x7fffu + (bits(x) >> 16 & 1u)) >> 16;
}

/// Rounds two neighbours that are no NaN.
COMPLL_BOTH uint32_t to_float16(float first, float second) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  uint32_t both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
  return both;
#else
  return to_float16(first) | to_float16(second) << 16;
#endif
}
COMPLL_BOTH uint32_t to_bfloat16(float first, float second) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  uint32_t both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
  return both;
#else
  return to_bfloat16(first) | to_bfloat16(second) << 16;
#endif
}

/// A vector to read, at any address that its elements may have.
class Elements {
 public:
  COMPLL_BOTH Elements(const void* at, ElementType type) : at_(static_cast<const unsigned char*>(at)), type_(type) {}

  COMPLL_BOTH bool is_float32() const { return type_ == ElementType::kFloat32; }
  /// Returns true if four neighbours from a multiple of four on are one access.
  COMPLL_BOTH bool is_aligned() const { return reinterpret_cast<uint64_t>(at_) % (is_float32() ? 16 : 8) == 0; }

  COMPLL_BOTH float operator()(uint64_t i) const { return is_float32() ? *floats(i) : widened<Exact>(*codes(i)); }

  /// Loads four neighbours, of which `rest` are there; zeros in place of others. Arithmetic: as some().
  template <class Arithmetic>
  COMPLL_BOTH Quad<float> quad(uint64_t i, uint32_t rest) const {
    if (is_float32()) return load_floats(floats(i), rest);
    const unsigned short* const from = codes(i);
    uint64_t four = 0;
    if (rest >= 4 && reinterpret_cast<uint64_t>(from) % 8 == 0) {
      four = load_word<uint64_t>(from);
    } else {
#pragma unroll
      for (uint32_t k = 0; k < 4; ++k) four |= k < rest ? uint64_t{from[k]} << 16 * k : 0;
    }
    return widened_quad<Arithmetic>(four);
  }
  /// Loads whole rows, `stride` elements apart, from i on in an aligned vector. A NaN may have other bits.
  COMPLL_BOTH void rows(Rows& x, uint64_t i, uint32_t stride) const {
    if (is_float32()) {
#pragma unroll
      for (uint32_t r = 0; r < kRowsAtOnce; ++r) x[r] = load_word<Quad<float>>(floats(i) + r * stride);
      return;
    }
    uint64_t four[kRowsAtOnce];
#pragma unroll
    for (uint32_t r = 0; r < kRowsAtOnce; ++r) four[r] = load_word<uint64_t>(codes(i) + r * stride);
#pragma unroll
    for (uint32_t r = 0; r < kRowsAtOnce; ++r) x[r] = widened_quad<Plain>(four[r]);
  }
  /// The same in any vector.
  COMPLL_BOTH void rows_anywhere(Rows& x, uint64_t i, uint32_t stride) const {
    if (is_aligned()) return rows(x, i, stride);
#pragma unroll
    for (uint32_t r = 0; r < kRowsAtOnce; ++r) some<Plain>(x[r].v, i + r * stride, 1);
  }
  /// Loads single elements, `stride` elements apart. Arithmetic: with Plain a NaN may have other bits.
  template <class Arithmetic, uint32_t kCount>
  COMPLL_BOTH void some(float (&x)[kCount], uint64_t i, uint32_t stride) const {
    if (is_float32()) {
#pragma unroll
      for (uint32_t k = 0; k < kCount; ++k) x[k] = floats(i)[k * stride];
      return;
    }
    uint32_t each[kCount];
#pragma unroll
    for (uint32_t k = 0; k < kCount; ++k) each[k] = codes(i)[k * stride];
#pragma unroll
    for (uint32_t k = 0; k < kCount; ++k) x[k] = widened<Arithmetic>(each[k]);
  }

 protected:
  /// One address, whatever the type is: two of them would take more registers.
  COMPLL_BOTH uint64_t offset(uint64_t i) const { return is_float32() ? 4 * i : 2 * i; }
  COMPLL_BOTH bool is_bfloat16() const { return type_ == ElementType::kBFloat16; }

 private:
  COMPLL_BOTH const float* floats(uint64_t i) const {
    return in_global(reinterpret_cast<const float*>(at_ + offset(i)));
  }
  COMPLL_BOTH const unsigned short* codes(uint64_t i) const {
    return in_global(reinterpret_cast<const unsigned short*>(at_ + offset(i)));
  }
  template <class Arithmetic>
  COMPLL_BOTH float widened(uint32_t code) const {
    return is_bfloat16() ? from_bfloat16(code) : from_float16<Arithmetic>(code);
  }
  template <class Arithmetic>
  COMPLL_BOTH Quad<float> widened_quad(uint64_t four) const {
    Quad<float> x;
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) x[k] = widened<Arithmetic>(static_cast<uint32_t>(four >> 16 * k) & 0xffffu);
    return x;
  }

  const unsigned char* at_;
  ElementType type_;
};

/// The `out` of a segment: a vector to write, which may be read, too. The segment hears of elements of half precision
/// that are not finite. Borrows the segment.
class Results : public Elements {
 public:
  COMPLL_BOTH explicit Results(const Segment& segment)
      : Elements(segment.out, segment.out_type), at_(static_cast<unsigned char*>(segment.out)), segment_(segment) {}

  /// One element: an array's, as a pointer has it.
  class Reference {
   public:
    COMPLL_BOTH Reference(const Results& results, uint64_t i) : results_(results), i_(i) {}
    COMPLL_BOTH operator float() const { return static_cast<const Elements&>(results_)(i_); }
    COMPLL_BOTH void operator=(float x) const { results_.store(x, i_); }

   private:
    const Results& results_;
    uint64_t i_;
  };
  COMPLL_BOTH Reference operator[](uint64_t i) const { return {*this, i}; }

  /// Stores single elements, `stride` elements apart.
  template <uint32_t kCount>
  COMPLL_BOTH void store_some(const float (&x)[kCount], uint64_t i, uint32_t stride) const {
    if (is_float32()) {
#pragma unroll
      for (uint32_t k = 0; k < kCount; ++k) floats(i)[k * stride] = x[k];
      return;
    }
    uint64_t infinite = 0;
#pragma unroll
    for (uint32_t k = 0; k < kCount; ++k) {
      const uint32_t code = rounded(x[k]);
      codes(i)[k * stride] = static_cast<unsigned short>(code);
      infinite |= infinite_of(code);
    }
    tell(infinite);
  }
  /// Stores four neighbours, of which `rest` are there.
  __device__ __forceinline__ void store(const Quad<float>& values, uint64_t i, uint32_t rest) const {
    if (is_float32()) return store_floats(values, floats(i), rest);
    unsigned short* const to = codes(i);
    const uint64_t four = rounded(values);
    tell(infinite_of(rest >= 4 ? four : four & ((uint64_t{1} << 16 * rest) - 1)));
    if (rest >= 4 && reinterpret_cast<uint64_t>(to) % 8 == 0) return store_word(to, four);
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) {
      if (k < rest) to[k] = static_cast<unsigned short>(four >> 16 * k);
    }
  }
  /// Stores whole rows of numbers, `stride` elements apart, from i on in an aligned vector.
  __device__ __forceinline__ void store_rows(const Rows& x, uint64_t i, uint32_t stride) const {
    if (is_float32()) {
#pragma unroll
      for (uint32_t r = 0; r < kRowsAtOnce; ++r) store_aligned(x[r], floats(i) + r * stride);
      return;
    }
    uint64_t infinite = 0;
#pragma unroll
    for (uint32_t r = 0; r < kRowsAtOnce; ++r) {
      const uint32_t low = rounded(x[r][0], x[r][1]), high = rounded(x[r][2], x[r][3]);
      const uint64_t four = uint64_t{high} << 32 | low;
      store_word(codes(i) + r * stride, four);
      infinite |= infinite_of(four);
    }
    tell(infinite);
  }

 private:
  COMPLL_BOTH float* floats(uint64_t i) const { return in_global(reinterpret_cast<float*>(at_ + offset(i))); }
  COMPLL_BOTH unsigned short* codes(uint64_t i) const {
    return in_global(reinterpret_cast<unsigned short*>(at_ + offset(i)));
  }
  COMPLL_BOTH uint32_t rounded(float x) const { return is_bfloat16() ? to_bfloat16(x) : to_float16(x); }
  COMPLL_BOTH uint32_t rounded(float first, float second) const {
    return is_bfloat16() ? to_bfloat16(first, second) : to_float16(first, second);
  }
  COMPLL_BOTH uint64_t rounded(const Quad<float>& values) const {
    uint64_t four = 0;
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) four |= uint64_t{rounded(values[k])} << 16 * k;
    return four;
  }
  /// Returns not 0 if one of four codes has an exponent of ones only: infinity or NaN. A sum with the exponent's least
  /// bit carries into the sign's place then, and no further.
  COMPLL_BOTH uint64_t infinite_of(uint64_t four) const {
    constexpr uint64_t kEach = 0x0001000100010001u;
    const uint64_t exponents = is_bfloat16() ? 0x7f80u * kEach : 0x7c00u * kEach;
    const uint64_t least_bits = is_bfloat16() ? 0x80u * kEach : 0x400u * kEach;
    return ((four & exponents) + least_bits) & 0x8000u * kEach;
  }
  /// Threads that tell the same thing store the same word.
  COMPLL_BOTH void tell(uint64_t infinite) const {
    if (infinite != 0 && segment_.not_finite != nullptr) *in_global(segment_.not_finite) = 1;
  }
  COMPLL_BOTH void store(float x, uint64_t i) const {
    if (is_float32()) {
      *floats(i) = x;
      return;
    }
    const uint32_t code = rounded(x);
    *codes(i) = static_cast<unsigned short>(code);
    tell(infinite_of(code));
  }

  unsigned char* at_;
  const Segment& segment_;
};

}  // namespace casync::compll::cuda
