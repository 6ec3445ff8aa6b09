// SPDX-License-Identifier: Apache-2.0
// Sixteen elements at a time, at any width of the machine's vectors: the types that generated codecs compute with. The
// meaning of every operation is compll/lang/arithmetic.h. Included after hwy/foreach_target.h only.
#if defined(COMPLL_OPS_CPU_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COMPLL_OPS_CPU_LANES_INL_H_
#undef COMPLL_OPS_CPU_LANES_INL_H_
#else
#define COMPLL_OPS_CPU_LANES_INL_H_
#endif

#include "compll/ops/cpu/simd-inl.h"
#include "compll/ops/scalar.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

// The same names serve one element.
using compll::abs;
using compll::bits;
using compll::ceil;
using compll::floor;
using compll::from_bits;
using compll::is_finite;
using compll::max;
using compll::min;
using compll::quotient;
using compll::remainder;
using compll::round_even;
using compll::select;
using compll::shift_left;
using compll::shift_right;
using compll::sqrt;
using compll::to_bool;
using compll::to_double;
using compll::to_float;
using compll::to_int;
using compll::to_uint;

inline constexpr size_t kGroup = 16;               // elements that are worked on together
inline constexpr size_t kParts = kGroup / kLanes;  // vectors they take

#if HWY_TARGET == HWY_SCALAR
using F64 = hn::CappedTag<double, 1>;
#else
using F64 = hn::CappedTag<double, 8>;
#endif
using VecD = hn::Vec<F64>;
inline constexpr size_t kDoubleLanes = hn::MaxLanes(F64());
inline constexpr size_t kDoubleParts = kGroup / kDoubleLanes;
using MaskF = hn::Mask<F32>;
using U16 = hn::Rebind<uint16_t, F32>;

// True if vectors are those of x86, whose instructions promise more than Highway's contract.
#undef COMPLL_IS_X86
#define COMPLL_IS_X86 (HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128)

// Sixteen vectors of one element are a loop; unrolled they would only take long to compile.
#undef COMPLL_EACH
#if HWY_TARGET == HWY_SCALAR
#define COMPLL_EACH _Pragma("GCC unroll 1") for (size_t k = 0; k < kParts; ++k)
#else
#define COMPLL_EACH for (size_t k = 0; k < kParts; ++k)
#endif

struct Bool {
  MaskF v[kParts];
  Bool() = default;
  HWY_INLINE Bool(bool value) {  // NOLINT(google-explicit-constructor): the same for all lanes
    COMPLL_EACH v[k] = hn::RebindMask(F32(), hn::Eq(hn::Set(I32(), value ? 1 : 0), hn::Set(I32(), 1)));
  }
};

struct Float {
  VecF v[kParts];
  Float() = default;
  HWY_INLINE Float(float value) { COMPLL_EACH v[k] = hn::Set(F32(), value); }  // NOLINT(google-explicit-constructor)
};

struct Int {
  VecI v[kParts];
  Int() = default;
  HWY_INLINE Int(int32_t value) { COMPLL_EACH v[k] = hn::Set(I32(), value); }  // NOLINT(google-explicit-constructor)
};

struct Uint {
  VecU v[kParts];
  Uint() = default;
  HWY_INLINE Uint(uint32_t value) { COMPLL_EACH v[k] = hn::Set(U32(), value); }  // NOLINT(google-explicit-constructor)
};

struct Double {
  VecD v[kDoubleParts];
  Double() = default;
  HWY_INLINE Double(double value) {  // NOLINT(google-explicit-constructor)
    for (size_t k = 0; k < kDoubleParts; ++k) v[k] = hn::Set(F64(), value);
  }
};

// Operators of all three types of 32 bits. `Type` is Float, Int or Uint.
#define COMPLL_BINARY(Type, sign, op)             \
  HWY_INLINE Type operator sign(Type a, Type b) { \
    Type r;                                       \
    COMPLL_EACH r.v[k] = hn::op(a.v[k], b.v[k]);  \
    return r;                                     \
  }
#define COMPLL_COMPARE(Type, sign, op)                                  \
  HWY_INLINE Bool operator sign(Type a, Type b) {                       \
    Bool r;                                                             \
    COMPLL_EACH r.v[k] = hn::RebindMask(F32(), hn::op(a.v[k], b.v[k])); \
    return r;                                                           \
  }
#define COMPLL_ORDERED(Type, Tag)                                                          \
  COMPLL_COMPARE(Type, ==, Eq)                                                             \
  HWY_INLINE Type select(Bool c, Type yes, Type no) {                                      \
    Type r;                                                                                \
    COMPLL_EACH r.v[k] = hn::IfThenElse(hn::RebindMask(Tag(), c.v[k]), yes.v[k], no.v[k]); \
    return r;                                                                              \
  }                                                                                        \
  COMPLL_COMPARE(Type, <, Lt)                                                              \
  HWY_INLINE Bool operator>(Type a, Type b) { return b < a; }

#define COMPLL_EXTREMES(Type)                     \
  HWY_INLINE Type min(Type a, Type b) {           \
    COMPLL_EACH a.v[k] = hn::Min(b.v[k], a.v[k]); \
    return a;                                     \
  }                                               \
  HWY_INLINE Type max(Type a, Type b) {           \
    COMPLL_EACH a.v[k] = hn::Max(b.v[k], a.v[k]); \
    return a;                                     \
  }

// Highway's Ne is false if an operand is NaN.
#if COMPLL_IS_X86
HWY_INLINE __m128 unequal_raw(__m128 a, __m128 b) { return _mm_cmpneq_ps(a, b); }
#if HWY_TARGET <= HWY_AVX2
HWY_INLINE __m256 unequal_raw(__m256 a, __m256 b) { return _mm256_cmp_ps(a, b, _CMP_NEQ_UQ); }
#endif
#if HWY_TARGET <= HWY_AVX3
HWY_INLINE __mmask16 unequal_raw(__m512 a, __m512 b) { return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ); }
#endif
HWY_INLINE MaskF unequal(VecF a, VecF b) { return MaskF{unequal_raw(a.raw, b.raw)}; }
#else
HWY_INLINE MaskF unequal(VecF a, VecF b) { return hn::Not(hn::Eq(a, b)); }
#endif
HWY_INLINE Bool operator!=(Float a, Float b) {
  Bool r;
  COMPLL_EACH r.v[k] = unequal(a.v[k], b.v[k]);
  return r;
}
COMPLL_ORDERED(Float, F32)
#if COMPLL_IS_X86
COMPLL_EXTREMES(Float)  // gives its second operand for NaN and for two zeros: just what `b < a ? b : a` means
#else
HWY_INLINE Float min(Float a, Float b) { return select(b < a, b, a); }
HWY_INLINE Float max(Float a, Float b) { return select(a < b, b, a); }
#endif
COMPLL_BINARY(Float, +, Add)
COMPLL_BINARY(Float, -, Sub)
COMPLL_BINARY(Float, *, Mul)
COMPLL_BINARY(Float, /, Div)
COMPLL_COMPARE(Float, <=, Le)
COMPLL_ORDERED(Int, I32)
COMPLL_COMPARE(Int, !=, Ne)
COMPLL_EXTREMES(Int)
COMPLL_BINARY(Int, +, Add)
COMPLL_BINARY(Int, -, Sub)
COMPLL_BINARY(Int, *, Mul)
COMPLL_BINARY(Int, &, And)
COMPLL_BINARY(Int, |, Or)
COMPLL_BINARY(Int, ^, Xor)
COMPLL_EXTREMES(Uint)
COMPLL_BINARY(Uint, +, Add)
COMPLL_BINARY(Uint, -, Sub)
COMPLL_BINARY(Uint, *, Mul)
COMPLL_BINARY(Uint, &, And)
COMPLL_BINARY(Uint, |, Or)
COMPLL_BINARY(Uint, ^, Xor)

HWY_INLINE Int as_int(Uint a) {
  Int r;
  COMPLL_EACH r.v[k] = hn::BitCast(I32(), a.v[k]);
  return r;
}
HWY_INLINE Uint as_uint(Int a) {
  Uint r;
  COMPLL_EACH r.v[k] = hn::BitCast(U32(), a.v[k]);
  return r;
}
#if COMPLL_IS_X86 && HWY_TARGET <= HWY_AVX3
HWY_INLINE Bool operator<(Uint a, Uint b) {
  Bool r;
  COMPLL_EACH r.v[k] = MaskF{_mm512_cmplt_epu32_mask(a.v[k].raw, b.v[k].raw)};
  return r;
}
#else
// Vectors of older machines compare signed numbers only: the order of unsigned ones is that with the top bit turned.
HWY_INLINE Bool operator<(Uint a, Uint b) { return as_int(a ^ Uint(0x80000000u)) < as_int(b ^ Uint(0x80000000u)); }
#endif
HWY_INLINE Bool operator>(Uint a, Uint b) { return b < a; }
COMPLL_COMPARE(Uint, ==, Eq)
COMPLL_COMPARE(Uint, !=, Ne)
HWY_INLINE Uint select(Bool c, Uint yes, Uint no) {
  Uint r;
  COMPLL_EACH r.v[k] = hn::IfThenElse(hn::RebindMask(U32(), c.v[k]), yes.v[k], no.v[k]);
  return r;
}

HWY_INLINE Bool operator!(Bool a) {
  COMPLL_EACH a.v[k] = hn::Not(a.v[k]);
  return a;
}
HWY_INLINE Bool operator&&(Bool a, Bool b) {
  COMPLL_EACH a.v[k] = hn::And(a.v[k], b.v[k]);
  return a;
}
HWY_INLINE Bool operator||(Bool a, Bool b) {
  COMPLL_EACH a.v[k] = hn::Or(a.v[k], b.v[k]);
  return a;
}
HWY_INLINE Bool operator!=(Bool a, Bool b) {
  COMPLL_EACH a.v[k] = hn::Xor(a.v[k], b.v[k]);
  return a;
}
HWY_INLINE Bool operator==(Bool a, Bool b) { return !(a != b); }
HWY_INLINE Bool select(Bool c, Bool yes, Bool no) { return (c && yes) || (!c && no); }
HWY_INLINE Bool operator<=(Int a, Int b) { return !(b < a); }
HWY_INLINE Bool operator<=(Uint a, Uint b) { return !(b < a); }

#define COMPLL_UNARY(name, op)           \
  HWY_INLINE Float name(Float a) {       \
    COMPLL_EACH a.v[k] = hn::op(a.v[k]); \
    return a;                            \
  }
COMPLL_UNARY(operator-, Neg)
COMPLL_UNARY(abs, Abs)
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE2
// Without an instruction for it Highway gives some zeros the other sign: it makes 0 of -0, or -0 of 0.
COMPLL_UNARY(plain_floor, Floor)
COMPLL_UNARY(plain_ceil, Ceil)
COMPLL_UNARY(plain_round, Round)
HWY_INLINE Float with_sign_of(Float signs, Float a) {
  COMPLL_EACH a.v[k] = hn::CopySign(a.v[k], signs.v[k]);
  return a;
}
HWY_INLINE Float floor(Float a) { return with_sign_of(a, plain_floor(a)); }
HWY_INLINE Float ceil(Float a) { return with_sign_of(a, plain_ceil(a)); }
HWY_INLINE Float round_even(Float a) { return with_sign_of(a, plain_round(a)); }
#else
COMPLL_UNARY(floor, Floor)
COMPLL_UNARY(ceil, Ceil)
COMPLL_UNARY(round_even, Round)
#endif
COMPLL_UNARY(sqrt, Sqrt)

HWY_INLINE Uint bits(Float a) {
  Uint r;
  COMPLL_EACH r.v[k] = hn::BitCast(U32(), a.v[k]);
  return r;
}
HWY_INLINE Float from_bits(Uint a) {
  Float r;
  COMPLL_EACH r.v[k] = hn::BitCast(F32(), a.v[k]);
  return r;
}
HWY_INLINE Bool is_finite(Float a) { return as_int(bits(a) & Uint(0x7fffffffu)) < Int(0x7f800000); }

HWY_INLINE Int operator-(Int a) { return Int(0) - a; }
HWY_INLINE Uint operator-(Uint a) { return Uint(0) - a; }
HWY_INLINE Int operator~(Int a) { return a ^ Int(-1); }
HWY_INLINE Uint operator~(Uint a) { return a ^ Uint(0xffffffffu); }
HWY_INLINE Int abs(Int a) { return max(a, -a); }
HWY_INLINE Uint abs(Uint a) { return a; }

// Computes an operation that vectors have no instruction for, one element after the other.
template <class Group, class Function>
HWY_INLINE Group element_by_element(Group a, Group b, const Function& function) {
  using T = decltype(function(0, 0));
  HWY_ALIGN T left[kGroup], right[kGroup];
  const hn::CappedTag<T, 16> tag;
  COMPLL_EACH hn::Store(a.v[k], tag, left + k * kLanes);
  COMPLL_EACH hn::Store(b.v[k], tag, right + k * kLanes);
  for (size_t i = 0; i < kGroup; ++i) left[i] = function(left[i], right[i]);
  COMPLL_EACH a.v[k] = hn::Load(tag, left + k * kLanes);
  return a;
}
#define COMPLL_ELEMENTWISE(Type, T, name)                                         \
  HWY_INLINE Type name(Type a, Type b) {                                          \
    return element_by_element(a, b, [](T x, T y) { return compll::name(x, y); }); \
  }
COMPLL_ELEMENTWISE(Int, int32_t, quotient)
COMPLL_ELEMENTWISE(Uint, uint32_t, quotient)
COMPLL_ELEMENTWISE(Int, int32_t, remainder)
COMPLL_ELEMENTWISE(Uint, uint32_t, remainder)
COMPLL_ELEMENTWISE(Int, int32_t, shift_left)
COMPLL_ELEMENTWISE(Uint, uint32_t, shift_left)
COMPLL_ELEMENTWISE(Int, int32_t, shift_right)
COMPLL_ELEMENTWISE(Uint, uint32_t, shift_right)

// Shifts by a constant.
template <int kBits>
HWY_INLINE Uint shift_left(Uint a) {
  COMPLL_EACH a.v[k] = hn::ShiftLeft<kBits>(a.v[k]);
  return a;
}
template <int kBits>
HWY_INLINE Int shift_left(Int a) {
  COMPLL_EACH a.v[k] = hn::ShiftLeft<kBits>(a.v[k]);
  return a;
}
template <int kBits>
HWY_INLINE Uint shift_right(Uint a) {
  COMPLL_EACH a.v[k] = hn::ShiftRight<kBits>(a.v[k]);
  return a;
}
template <int kBits>
HWY_INLINE Int shift_right(Int a) {
  COMPLL_EACH a.v[k] = hn::ShiftRight<kBits>(a.v[k]);
  return a;
}

#undef COMPLL_ELEMENTWISE
#undef COMPLL_UNARY
#undef COMPLL_EXTREMES
#undef COMPLL_ORDERED
#undef COMPLL_COMPARE
#undef COMPLL_BINARY

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle above
