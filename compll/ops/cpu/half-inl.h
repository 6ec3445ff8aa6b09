// SPDX-License-Identifier: Apache-2.0
// float16 and back, a vector at a time and sixteen elements at a time. Included after hwy/foreach_target.h only.
#if defined(COMPLL_OPS_CPU_HALF_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COMPLL_OPS_CPU_HALF_INL_H_
#undef COMPLL_OPS_CPU_HALF_INL_H_
#else
#define COMPLL_OPS_CPU_HALF_INL_H_
#endif

#include "compll/ops/cpu/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

HWY_INLINE VecI constant(int32_t value) { return hn::Set(I32(), value); }
HWY_INLINE VecF as_float(VecI bits) { return hn::BitCast(F32(), bits); }

/// The 16 bits in the low half of each lane; `decode` looks at those only.
struct Float16 {
  static constexpr uint32_t kInfinity = 0x7c00;

#if HWY_TARGET <= HWY_AVX2
  // F16C does exactly what the integers below do: a test compares them for every code and midpoint.
  using F16 = hn::Rebind<hwy::float16_t, F32>;

  static HWY_INLINE VecI encode(VecF v) { return hn::PromoteTo(I32(), hn::BitCast(U16(), hn::DemoteTo(F16(), v))); }
  static HWY_INLINE VecF decode(VecI code) {
    return hn::PromoteTo(F32(), hn::BitCast(F16(), hn::DemoteTo(U16(), code)));
  }
#else

  // Normal: rebias by 112 and round away 13 bits; the carry runs into the exponent as it should. Subnormal: adding
  // one half leaves a float whose last place is 2^-24, which is the subnormals' unit, so the addition rounds.
  static HWY_INLINE VecI encode(VecF v) {
    const VecI magnitude = magnitude_bits(v);
    const VecI sign = hn::ShiftRight<16>(hn::AndNot(magnitude, hn::BitCast(I32(), v)));
    const VecI even = hn::Add(constant(0xfff - (112 << 23)), hn::And(hn::ShiftRight<13>(magnitude), constant(1)));
    const VecI normal = hn::Min(hn::ShiftRight<13>(hn::Add(magnitude, even)), constant(0x7c00));
    const VecF half = hn::Set(F32(), 0.5f);
    const VecI subnormal = hn::Sub(hn::BitCast(I32(), hn::Add(as_float(magnitude), half)), hn::BitCast(I32(), half));
    const VecI quiet = hn::And(hn::Or(hn::ShiftRight<13>(magnitude), constant(0x7e00)), constant(0x7fff));
    VecI code = hn::IfThenElse(hn::Lt(magnitude, constant(0x38800000)), subnormal, normal);
    code = hn::IfThenElse(hn::Gt(magnitude, constant(0x7f800000)), quiet, code);
    return hn::Or(code, hn::And(sign, constant(0x8000)));
  }
  // Normal and subnormal alike: put the fields in place, which is 2^112 times too small for a normal number; for a
  // subnormal one the exponent of 2^-14 is set and taken away again as a number.
  static HWY_INLINE VecF decode(VecI code) {
    const VecI exponent = hn::And(code, constant(0x7c00));
    const VecI fields = hn::ShiftLeft<13>(hn::And(code, constant(0x7fff)));
    const VecI least = constant(113 << 23);
    const VecF subnormal = hn::Sub(as_float(hn::Add(fields, least)), as_float(least));
    const VecI special = hn::And(hn::VecFromMask(I32(), hn::Eq(exponent, constant(0x7c00))), constant(112 << 23));
    const VecF normal = as_float(hn::Add(hn::Add(fields, constant(112 << 23)), special));
    const VecF value = hn::IfThenElse(hn::RebindMask(F32(), hn::Eq(exponent, hn::Zero(I32()))), subnormal, normal);
    const auto is_nan = hn::Gt(hn::And(code, constant(0x7fff)), constant(0x7c00));
    const VecI quiet = hn::And(hn::VecFromMask(I32(), is_nan), constant(0x400000));
    return hn::Or(value, as_float(hn::Or(quiet, hn::ShiftLeft<16>(hn::And(code, constant(0x8000))))));
  }
#endif
};

HWY_INLINE Uint to_half(Float a) {
  Uint r;
  COMPLL_EACH r.v[k] = hn::BitCast(U32(), Float16::encode(a.v[k]));
  return r;
}
/// Decodes the lowest 16 bits.
HWY_INLINE Float from_half(Uint a) {
  Float r;
#if HWY_TARGET <= HWY_AVX2
  COMPLL_EACH r.v[k] = hn::PromoteTo(F32(), hn::BitCast(Float16::F16(), hn::TruncateTo(U16(), a.v[k])));
#else
  COMPLL_EACH r.v[k] = Float16::decode(hn::BitCast(I32(), a.v[k]));
#endif
  return r;
}

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle above
