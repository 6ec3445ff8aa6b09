// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic of sizes: how many elements an array has is computed in 64 bits, such that `g.size * 100 / 1000` is a
// tenth of a large gradient. Otherwise the operations mean the same as for elements (compll/lang/arithmetic.h). The
// interpreter, generated C++ and generated CUDA all use these functions. NVRTC compiles this header: it has no standard
// library.
#pragma once

#ifndef __CUDACC_RTC__
#include <cmath>
#endif

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define COMPLL_OF_SIZES __host__ __device__ inline
#else
#define COMPLL_OF_SIZES inline
#endif

namespace casync::compll::wide {

using Int = long long;
using Uint = unsigned long long;

// Integers wrap around, and dividing by 0 gives 0.
COMPLL_OF_SIZES Uint add(Uint a, Uint b) { return a + b; }
COMPLL_OF_SIZES Uint subtract(Uint a, Uint b) { return a - b; }
COMPLL_OF_SIZES Uint multiply(Uint a, Uint b) { return a * b; }
COMPLL_OF_SIZES Uint divide(Uint a, Uint b) { return b == 0 ? 0 : a / b; }
COMPLL_OF_SIZES Uint remainder(Uint a, Uint b) { return b == 0 ? 0 : a % b; }
COMPLL_OF_SIZES Uint negate(Uint a) { return 0 - a; }
COMPLL_OF_SIZES Int add(Int a, Int b) { return static_cast<Int>(Uint(a) + Uint(b)); }
COMPLL_OF_SIZES Int subtract(Int a, Int b) { return static_cast<Int>(Uint(a) - Uint(b)); }
COMPLL_OF_SIZES Int multiply(Int a, Int b) { return static_cast<Int>(Uint(a) * Uint(b)); }
COMPLL_OF_SIZES Int negate(Int a) { return static_cast<Int>(0 - Uint(a)); }
COMPLL_OF_SIZES Int divide(Int a, Int b) { return b == 0 ? 0 : b == -1 ? negate(a) : a / b; }
COMPLL_OF_SIZES Int remainder(Int a, Int b) { return b == 0 || b == -1 ? 0 : a % b; }

COMPLL_OF_SIZES float add(float a, float b) { return a + b; }
COMPLL_OF_SIZES float subtract(float a, float b) { return a - b; }
COMPLL_OF_SIZES float multiply(float a, float b) { return a * b; }
COMPLL_OF_SIZES float divide(float a, float b) { return a / b; }
COMPLL_OF_SIZES float negate(float a) { return -a; }
COMPLL_OF_SIZES double add(double a, double b) { return a + b; }
COMPLL_OF_SIZES double subtract(double a, double b) { return a - b; }
COMPLL_OF_SIZES double multiply(double a, double b) { return a * b; }
COMPLL_OF_SIZES double divide(double a, double b) { return a / b; }
COMPLL_OF_SIZES double negate(double a) { return -a; }

/// Shifts by the lowest five bits of the count.
template <class T>
COMPLL_OF_SIZES T shift_left(T a, T count) {
  return static_cast<T>(Uint(a) << (Uint(count) & 31));
}
template <class T>
COMPLL_OF_SIZES T shift_right(T a, T count) {
  return a >> (Uint(count) & 31);
}

template <class T>
COMPLL_OF_SIZES T min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
COMPLL_OF_SIZES T max(T a, T b) {
  return a < b ? b : a;
}
COMPLL_OF_SIZES Int abs(Int a) { return a < 0 ? negate(a) : a; }
COMPLL_OF_SIZES Uint abs(Uint a) { return a; }
COMPLL_OF_SIZES float abs(float a) { return ::fabsf(a); }
COMPLL_OF_SIZES double abs(double a) { return ::fabs(a); }
COMPLL_OF_SIZES float floor(float a) { return ::floorf(a); }
COMPLL_OF_SIZES double floor(double a) { return ::floor(a); }
COMPLL_OF_SIZES float ceil(float a) { return ::ceilf(a); }
COMPLL_OF_SIZES double ceil(double a) { return ::ceil(a); }
COMPLL_OF_SIZES float round_even(float a) { return ::rintf(a); }
COMPLL_OF_SIZES double round_even(double a) { return ::rint(a); }
COMPLL_OF_SIZES float sqrt(float a) { return ::sqrtf(a); }
COMPLL_OF_SIZES double sqrt(double a) { return ::sqrt(a); }

COMPLL_OF_SIZES Uint bits(float a) { return __builtin_bit_cast(unsigned, a); }
COMPLL_OF_SIZES float from_bits(Uint a) { return __builtin_bit_cast(float, static_cast<unsigned>(a)); }
template <class T>
COMPLL_OF_SIZES bool is_finite(T a) {
  return a - a == 0;
}

// Conversions go towards zero. A value that does not fit becomes the nearest end of the range, and NaN becomes 0.
COMPLL_OF_SIZES Int to_int(Int a) { return a; }
COMPLL_OF_SIZES Int to_int(Uint a) { return a > 0x7fffffffffffffffull ? 0x7fffffffffffffffll : static_cast<Int>(a); }
COMPLL_OF_SIZES Int to_int(bool a) { return a ? 1 : 0; }
COMPLL_OF_SIZES Int to_int(double a) {
  if (a != a) return 0;
  if (a >= 0x1p63) return 0x7fffffffffffffffll;
  return a <= -0x1p63 ? -0x7fffffffffffffffll - 1 : static_cast<Int>(a);
}
COMPLL_OF_SIZES Int to_int(float a) { return to_int(static_cast<double>(a)); }
COMPLL_OF_SIZES Uint to_uint(Int a) { return a < 0 ? 0 : static_cast<Uint>(a); }
COMPLL_OF_SIZES Uint to_uint(Uint a) { return a; }
COMPLL_OF_SIZES Uint to_uint(bool a) { return a ? 1 : 0; }
COMPLL_OF_SIZES Uint to_uint(double a) {
  if (!(a > 0)) return 0;
  return a >= 0x1p64 ? 0xffffffffffffffffull : static_cast<Uint>(a);
}
COMPLL_OF_SIZES Uint to_uint(float a) { return to_uint(static_cast<double>(a)); }

/// Converts to an integer between these ends: one of fewer bits than 32, or a trit.
template <class T>
COMPLL_OF_SIZES Int to_int(T a, Int least, Int most) {
  return max(least, min(most, to_int(a)));
}
template <class T>
COMPLL_OF_SIZES Uint to_uint(T a, Uint most) {
  return min(most, to_uint(a));
}

template <class T>
COMPLL_OF_SIZES float to_float(T a) {
  return static_cast<float>(a);
}
template <class T>
COMPLL_OF_SIZES double to_double(T a) {
  return static_cast<double>(a);
}
template <class T>
COMPLL_OF_SIZES bool to_bool(T a) {
  return a != T(0);
}

}  // namespace casync::compll::wide
