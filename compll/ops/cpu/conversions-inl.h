// SPDX-License-Identifier: Apache-2.0
// Conversions of sixteen elements at a time, and the operations of doubles. The meaning of every conversion is
// compll/lang/arithmetic.h. Included after hwy/foreach_target.h only.
#if defined(COMPLL_OPS_CPU_CONVERSIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COMPLL_OPS_CPU_CONVERSIONS_INL_H_
#undef COMPLL_OPS_CPU_CONVERSIONS_INL_H_
#else
#define COMPLL_OPS_CPU_CONVERSIONS_INL_H_
#endif

#include "compll/ops/cpu/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

HWY_INLINE Float to_float(Float a) { return a; }
HWY_INLINE Float to_float(Int a) {
  Float r;
  COMPLL_EACH r.v[k] = hn::ConvertTo(F32(), a.v[k]);
  return r;
}
/// Both halves are exact, and so is their sum but for one rounding.
HWY_INLINE Float to_float(Uint a) {
  const Float low = to_float(as_int(a & Uint(0xffffu))), high = to_float(as_int(shift_right<16>(a)));
  return high * Float(65536.0f) + low;
}
HWY_INLINE Int to_int(Int a) { return a; }
HWY_INLINE Int to_int(Uint a) { return as_int(min(a, Uint(0x7fffffffu))); }
HWY_INLINE Int to_int(Bool a) { return select(a, Int(1), Int(0)); }
HWY_INLINE Uint to_uint(Uint a) { return a; }
HWY_INLINE Uint to_uint(Int a) { return as_uint(max(a, Int(0))); }
HWY_INLINE Uint to_uint(Bool a) { return select(a, Uint(1), Uint(0)); }
HWY_INLINE Float to_float(Bool a) { return select(a, Float(1.0f), Float(0.0f)); }
HWY_INLINE Bool to_bool(Bool a) { return a; }
HWY_INLINE Bool to_bool(Float a) { return a != Float(0.0f); }
HWY_INLINE Bool to_bool(Int a) { return a != Int(0); }
HWY_INLINE Bool to_bool(Uint a) { return a != Uint(0u); }

// x86 converts a float that is no int to the least int. Highway's conversions correct that with four more instructions,
// of which these functions need none.
#if COMPLL_IS_X86
HWY_INLINE __m128i truncated_raw(__m128 a) { return _mm_cvttps_epi32(a); }
#if HWY_TARGET <= HWY_AVX2
HWY_INLINE __m256i truncated_raw(__m256 a) { return _mm256_cvttps_epi32(a); }
#endif
#if HWY_TARGET <= HWY_AVX3
HWY_INLINE __m512i truncated_raw(__m512 a) { return _mm512_cvttps_epi32(a); }
#endif
HWY_INLINE VecI truncated(VecF a) { return VecI{truncated_raw(a.raw)}; }
#else
HWY_INLINE VecI truncated(VecF a) { return hn::ConvertTo(I32(), a); }
#endif

/// Truncates values in the range of int; any other value becomes some int.
HWY_INLINE Int truncated(Float a) {
  Int r;
  COMPLL_EACH r.v[k] = truncated(a.v[k]);
  return r;
}
HWY_INLINE Int to_int(Float a) {
  const Int inside = truncated(max(Float(-2147483648.0f), a));
  return select(a < Float(2147483648.0f), inside, select(a == a, Int(0x7fffffff), Int(0)));
}
#if COMPLL_IS_X86 && HWY_TARGET <= HWY_AVX3
HWY_INLINE Uint to_uint(Float a) {            // too large a value becomes the greatest one
  const Float clamped = max(Float(0.0f), a);  // and NaN becomes 0
  Uint r;
  COMPLL_EACH r.v[k] = VecU{_mm512_cvttps_epu32(clamped.v[k].raw)};
  return r;
}
#else
HWY_INLINE Uint to_uint(Float a) {
  const Float clamped = max(Float(0.0f), min(a, Float(4294967040.0f)));  // and NaN becomes 0
  const Bool high = !(clamped < Float(2147483648.0f));
  const Int rest = truncated(select(high, clamped - Float(2147483648.0f), clamped));
  const Uint inside = as_uint(rest) + select(high, Uint(0x80000000u), Uint(0u));
  return select(a < Float(4294967296.0f), inside, select(a == a, Uint(0xffffffffu), Uint(0u)));
}
#endif
/// To an integer of `kBits`. A float holds the ends of up to 24 bits exactly; others are cut off as integers.
template <int kBits>
HWY_INLINE Int to_int(Float a) {
  if constexpr (kBits > 25) {
    constexpr int32_t kEnd = static_cast<int32_t>((uint32_t{1} << (kBits - 1)) - 1);
    return min(max(to_int(a), Int(-kEnd - 1)), Int(kEnd));
  }
  constexpr float kMost = static_cast<float>((int64_t{1} << (kBits - 1)) - 1), kLeast = -kMost - 1;
  return select(a == a, truncated(min(max(a, Float(kLeast)), Float(kMost))), Int(0));
}
template <int kBits>
HWY_INLINE Uint to_uint(Float a) {
  if constexpr (kBits > 24) return min(to_uint(a), Uint(static_cast<uint32_t>((uint64_t{1} << kBits) - 1)));
  constexpr float kMost = static_cast<float>((uint64_t{1} << kBits) - 1);
  return as_uint(truncated(min(max(Float(0.0f), a), Float(kMost))));  // and NaN becomes 0
}
template <int kBits>
HWY_INLINE Int to_int(Int a) {
  constexpr int32_t kMost = static_cast<int32_t>((uint32_t{1} << (kBits - 1)) - 1);
  return min(max(a, Int(-kMost - 1)), Int(kMost));
}
template <int kBits>
HWY_INLINE Int to_int(Uint a) {
  return as_int(min(a, Uint((uint32_t{1} << (kBits - 1)) - 1)));
}
template <int kBits>
HWY_INLINE Uint to_uint(Int a) {
  return min(as_uint(max(a, Int(0))), Uint(static_cast<uint32_t>((uint64_t{1} << kBits) - 1)));
}
template <int kBits>
HWY_INLINE Uint to_uint(Uint a) {
  return min(a, Uint(static_cast<uint32_t>((uint64_t{1} << kBits) - 1)));
}
template <int kBits>
HWY_INLINE Int to_int(Bool a) {
  return kBits == 1 ? Int(0) : to_int(a);
}
template <int kBits>
HWY_INLINE Uint to_uint(Bool a) {
  return to_uint(a);
}

// Doubles: sums of squares and the like. A vector of them takes half as many elements.
template <class V>
HWY_INLINE VecD widen([[maybe_unused]] size_t half, V v) {
#if HWY_TARGET == HWY_SCALAR
  return hn::PromoteTo(F64(), v);
#else
  const hn::Half<hn::DFromV<V>> halves;
  return hn::PromoteTo(F64(), half == 0 ? hn::LowerHalf(halves, v) : hn::UpperHalf(halves, v));
#endif
}
inline constexpr size_t kHalves = kDoubleParts / kParts;

HWY_INLINE Double to_double(Float a) {
  Double r;
  for (size_t k = 0; k < kDoubleParts; ++k) r.v[k] = widen(k % kHalves, a.v[k / kHalves]);
  return r;
}
HWY_INLINE Double to_double(Int a) {
  Double r;
  for (size_t k = 0; k < kDoubleParts; ++k) r.v[k] = widen(k % kHalves, a.v[k / kHalves]);
  return r;
}
HWY_INLINE Float to_float(Double a) {
  Float r;
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  // Highway's DemoteTo makes infinity the greatest float on these two targets.
  HWY_ALIGN double wide[kGroup];
  HWY_ALIGN float narrow[kGroup];
  for (size_t k = 0; k < kDoubleParts; ++k) hn::Store(a.v[k], F64(), wide + k * kDoubleLanes);
  for (size_t i = 0; i < kGroup; ++i) narrow[i] = static_cast<float>(wide[i]);
  COMPLL_EACH r.v[k] = hn::Load(F32(), narrow + k * kLanes);
#else
  const hn::Rebind<float, F64> half;
  COMPLL_EACH r.v[k] =
      hn::Combine(F32(), hn::DemoteTo(half, a.v[k * kHalves + 1]), hn::DemoteTo(half, a.v[k * kHalves]));
#endif
  return r;
}
/// A double may be too small for a float, and is no zero then. NaN is no zero either, though Highway's Ne may say so.
HWY_INLINE Bool to_bool(Double a) {
  for (size_t k = 0; k < kDoubleParts; ++k) {
    a.v[k] = hn::IfThenElse(hn::Eq(a.v[k], hn::Zero(F64())), hn::Zero(F64()), hn::Set(F64(), 1.0));
  }
  return to_float(a) != Float(0.0f);
}
#define COMPLL_DOUBLE(sign, op)                                                \
  HWY_INLINE Double operator sign(Double a, Double b) {                        \
    for (size_t k = 0; k < kDoubleParts; ++k) a.v[k] = hn::op(a.v[k], b.v[k]); \
    return a;                                                                  \
  }
COMPLL_DOUBLE(+, Add)
COMPLL_DOUBLE(-, Sub)
COMPLL_DOUBLE(*, Mul)
COMPLL_DOUBLE(/, Div)

/// Both halves are exact.
HWY_INLINE Double to_double(Uint a) {
  return to_double(as_int(shift_right<16>(a))) * Double(65536.0) + to_double(as_int(a & Uint(0xffffu)));
}

#undef COMPLL_DOUBLE

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle above
