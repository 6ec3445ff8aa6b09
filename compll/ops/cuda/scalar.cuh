// SPDX-License-Identifier: Apache-2.0
//
// The operations on one element, which compll/lang/arithmetic.h defines. Operators that mean the same in CUDA stand in
// generated text as they are: those of floats and of unsigned integers.
#pragma once

#include "compll/ops/cuda/types.cuh"

namespace casync::compll::cuda {

// Integers wrap around.
COMPLL_BOTH int32_t add(int32_t a, int32_t b) { return static_cast<int32_t>(uint32_t(a) + uint32_t(b)); }
COMPLL_BOTH int32_t subtract(int32_t a, int32_t b) { return static_cast<int32_t>(uint32_t(a) - uint32_t(b)); }
COMPLL_BOTH int32_t multiply(int32_t a, int32_t b) { return static_cast<int32_t>(uint32_t(a) * uint32_t(b)); }
COMPLL_BOTH int32_t negated(int32_t a) { return static_cast<int32_t>(0u - uint32_t(a)); }
COMPLL_BOTH uint32_t negated(uint32_t a) { return 0u - a; }

/// Divides towards zero; 0 if the divisor is 0; -2^31 / -1 is -2^31.
COMPLL_BOTH int32_t quotient(int32_t a, int32_t b) { return b == 0 ? 0 : b == -1 ? negated(a) : a / b; }
COMPLL_BOTH uint32_t quotient(uint32_t a, uint32_t b) { return b == 0 ? 0 : a / b; }
COMPLL_BOTH int32_t remainder(int32_t a, int32_t b) { return b == 0 || b == -1 ? 0 : a % b; }
COMPLL_BOTH uint32_t remainder(uint32_t a, uint32_t b) { return b == 0 ? 0 : a % b; }

COMPLL_BOTH int32_t shift_left(int32_t a, uint32_t by) { return static_cast<int32_t>(uint32_t(a) << (by & 31)); }
COMPLL_BOTH uint32_t shift_left(uint32_t a, uint32_t by) { return a << (by & 31); }
COMPLL_BOTH int32_t shift_right(int32_t a, uint32_t by) { return a >> (by & 31); }
COMPLL_BOTH uint32_t shift_right(uint32_t a, uint32_t by) { return a >> (by & 31); }

/// Returns the second operand if it is less, else the first: also for NaN and for zeros.
template <class T>
COMPLL_BOTH T min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
COMPLL_BOTH T max(T a, T b) {
  return a < b ? b : a;
}

// The same if the first is not NaN and one of the two is a constant other than 0: one instruction of a GPU, which
// returns the operand that is no NaN. A host's functions return a signaling NaN instead.
#ifdef __CUDA_ARCH__
COMPLL_BOTH float min_of_numbers(float a, float b) { return ::fminf(a, b); }
COMPLL_BOTH float max_of_numbers(float a, float b) { return ::fmaxf(a, b); }
#else
COMPLL_BOTH float min_of_numbers(float a, float b) { return min(a, b); }
COMPLL_BOTH float max_of_numbers(float a, float b) { return max(a, b); }
#endif

// Clears the sign bit, so a NaN keeps its own bits.
COMPLL_BOTH float abs(float x) { return from_bits(bits(x) & 0x7fffffffu); }
COMPLL_BOTH double abs(double x) { return same_bits<double>(same_bits<uint64_t>(x) & 0x7fffffffffffffffull); }
COMPLL_BOTH int32_t abs(int32_t x) { return x < 0 ? negated(x) : x; }
COMPLL_BOTH uint32_t abs(uint32_t x) { return x; }

COMPLL_BOTH bool is_finite(float x) { return (bits(x) & 0x7fffffffu) < 0x7f800000u; }
COMPLL_BOTH bool is_finite(double x) {
  return (same_bits<uint64_t>(x) & 0x7ff0000000000000ull) != 0x7ff0000000000000ull;
}

COMPLL_BOTH float floor(float x) { return ::floorf(x); }
COMPLL_BOTH double floor(double x) { return ::floor(x); }
COMPLL_BOTH float ceil(float x) { return ::ceilf(x); }
COMPLL_BOTH double ceil(double x) { return ::ceil(x); }
COMPLL_BOTH float round_even(float x) { return ::rintf(x); }
COMPLL_BOTH double round_even(double x) { return ::rint(x); }
COMPLL_BOTH float sqrt(float x) { return ::sqrtf(x); }
COMPLL_BOTH double sqrt(double x) { return ::sqrt(x); }

template <class T>
COMPLL_BOTH bool to_bool(T x) {
  return x != T(0);
}

// Rounds towards zero; out of range is the nearest end, and NaN becomes 0.
COMPLL_BOTH int32_t whole_int(float x) {
#ifdef __CUDA_ARCH__
  return __float2int_rz(x);  // the instruction does all of that
#else
  if (x != x) return 0;
  return x >= 0x1p31f ? 0x7fffffff : x <= -0x1p31f ? -0x7fffffff - 1 : static_cast<int32_t>(x);
#endif
}
COMPLL_BOTH uint32_t whole_uint(float x) {
#ifdef __CUDA_ARCH__
  return __float2uint_rz(x);
#else
  return !(x > 0) ? 0 : x >= 0x1p32f ? 0xffffffffu : static_cast<uint32_t>(x);
#endif
}
// Checks for NaN: for a double the instruction returns another value.
COMPLL_BOTH int32_t whole_int(double x) {
  if (x != x) return 0;
  return x >= 0x1p31 ? 0x7fffffff : x <= -0x1p31 ? -0x7fffffff - 1 : static_cast<int32_t>(x);
}
COMPLL_BOTH uint32_t whole_uint(double x) {
  return !(x > 0) ? 0 : x >= 0x1p32 ? 0xffffffffu : static_cast<uint32_t>(x);
}
COMPLL_BOTH int32_t whole_int(int32_t x) { return x; }
COMPLL_BOTH int32_t whole_int(uint32_t x) { return x > 0x7fffffffu ? 0x7fffffff : static_cast<int32_t>(x); }
COMPLL_BOTH uint32_t whole_uint(int32_t x) { return x < 0 ? 0 : static_cast<uint32_t>(x); }
COMPLL_BOTH uint32_t whole_uint(uint32_t x) { return x; }
COMPLL_BOTH int32_t whole_int(bool x) { return x ? 1 : 0; }
COMPLL_BOTH uint32_t whole_uint(bool x) { return x ? 1u : 0u; }

/// Converts to an integer of kBits bits, in a word of 32.
template <uint32_t kBits = 32, class T>
COMPLL_BOTH int32_t to_int(T x) {
  constexpr int32_t kMost = 0x7fffffff >> (32 - kBits), kLeast = -kMost - 1;
  return max(kLeast, min(kMost, whole_int(x)));
}
template <uint32_t kBits = 32, class T>
COMPLL_BOTH uint32_t to_uint(T x) {
  return min(0xffffffffu >> (32 - kBits), whole_uint(x));
}

/// Converts a value that is rounded to even first: one instruction.
COMPLL_BOTH int32_t rounded_int(float x) {
#ifdef __CUDA_ARCH__
  return __float2int_rn(x);
#else
  return whole_int(round_even(x));
#endif
}
COMPLL_BOTH uint32_t rounded_uint(float x) {
#ifdef __CUDA_ARCH__
  return __float2uint_rn(x);
#else
  return whole_uint(round_even(x));
#endif
}
template <uint32_t kBits = 32>
COMPLL_BOTH int32_t round_to_int(float x) {
  return to_int<kBits>(rounded_int(x));
}
template <uint32_t kBits = 32>
COMPLL_BOTH uint32_t round_to_uint(float x) {
  return to_uint<kBits>(rounded_uint(x));
}

/// Converts to -1, 0 or 1.
template <class T>
COMPLL_BOTH int32_t to_trit(T x) {
  return max(-1, min(1, whole_int(x)));
}

/// Extends an integer of `kBits` bits by its sign.
template <uint32_t kBits>
COMPLL_BOTH int32_t with_sign(uint32_t code) {
  return static_cast<int32_t>(code << (32 - kBits)) >> (32 - kBits);
}

}  // namespace casync::compll::cuda
