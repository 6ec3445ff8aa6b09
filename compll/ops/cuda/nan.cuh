// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic that gives a NaN the bits it has on x86: those of the operand that is one, made quiet, else the default
// ones with the sign set. A GPU's own NaN is always the same. Generated text uses these where a result's bits can be
// seen: it is stored, or the program asks for its bits.
#pragma once

#include "compll/ops/cuda/types.cuh"

namespace casync::compll::cuda {

COMPLL_BOTH float quiet(float x) { return from_bits(bits(x) | 0x400000u); }
COMPLL_BOTH double quiet(double x) { return same_bits<double>(same_bits<uint64_t>(x) | 0x8000000000000ull); }
COMPLL_BOTH float default_nan(float) { return from_bits(0xffc00000u); }
COMPLL_BOTH double default_nan(double) { return same_bits<double>(0xfff8000000000000ull); }

template <class Real>
COMPLL_BOTH Real nan_of(Real a, Real b) {
  return a != a ? quiet(a) : b != b ? quiet(b) : default_nan(a);
}

template <class Real>
COMPLL_BOTH Real add(Real a, Real b) {
  const Real sum = a + b;
  return sum == sum ? sum : nan_of(a, b);
}
template <class Real>
COMPLL_BOTH Real subtract(Real a, Real b) {
  const Real difference = a - b;
  return difference == difference ? difference : nan_of(a, b);
}
template <class Real>
COMPLL_BOTH Real multiply(Real a, Real b) {
  const Real product = a * b;
  return product == product ? product : nan_of(a, b);
}
template <class Real>
COMPLL_BOTH Real divide(Real a, Real b) {
  const Real result = a / b;
  return result == result ? result : nan_of(a, b);
}

// Division by a constant as a product by its reciprocal and two multiply-adds, which round correctly (Markstein 2000,
// IA-64 and Elementary Functions, theorem 8.5) if nothing on the way overflows or is denormal: the compiler's own
// division has to check for that, and has a second way.

/// Divides an integer of at most 24 bits by a constant of a usual size.
COMPLL_BOTH float divide_whole(float x, float by) {
  const float reciprocal = 1.0f / by, quotient = x * reciprocal;
  return fmaf(fmaf(-quotient, by, x), reciprocal, quotient);
}
/// Divides a value computed by adding and multiplying floats and integers. For 0 and infinity returns the product.
COMPLL_BOTH double divide_mild(double x, double by) {
  const double reciprocal = 1.0 / by, quotient = x * reciprocal;
  const double result = fma(fma(-quotient, by, x), reciprocal, quotient);
  return x != x ? quiet(x) : result == result && x != 0 ? result : quotient;
}

COMPLL_BOTH float negated(float x) { return from_bits(bits(x) ^ 0x80000000u); }
COMPLL_BOTH double negated(double x) { return same_bits<double>(same_bits<uint64_t>(x) ^ 0x8000000000000000ull); }

/// Returns the result of a function of one operand; for NaN its operand.
template <class Real>
COMPLL_BOTH Real or_nan(Real result, Real x) {
  return x != x ? quiet(x) : result == result ? result : default_nan(x);
}

COMPLL_BOTH double widened(float x) {
  if (x == x) return x;
  const uint64_t fraction = uint64_t{bits(x) & 0x7fffffu} << 29, sign = uint64_t{bits(x) >> 31} << 63;
  return same_bits<double>(sign | 0x7ff8000000000000ull | fraction);
}
COMPLL_BOTH float narrowed(double x) {
  if (x == x) return static_cast<float>(x);
  const uint64_t all = same_bits<uint64_t>(x);
  const uint32_t fraction = static_cast<uint32_t>(all >> 29) & 0x7fffffu, sign = static_cast<uint32_t>(all >> 63) << 31;
  return from_bits(sign | 0x7fc00000u | fraction);
}

/// The arithmetic of a text that is compiled twice: with this struct, and with the next.
struct Exact {
  static constexpr bool kIsExact = true;
  template <class Real>
  COMPLL_BOTH static Real add(Real a, Real b) {
    return cuda::add(a, b);
  }
  template <class Real>
  COMPLL_BOTH static Real subtract(Real a, Real b) {
    return cuda::subtract(a, b);
  }
  template <class Real>
  COMPLL_BOTH static Real multiply(Real a, Real b) {
    return cuda::multiply(a, b);
  }
  template <class Real>
  COMPLL_BOTH static Real divide(Real a, Real b) {
    return cuda::divide(a, b);
  }
  template <class Real>
  COMPLL_BOTH static Real or_nan(Real result, Real x) {
    return cuda::or_nan(result, x);
  }
  COMPLL_BOTH static double widened(float x) { return cuda::widened(x); }
  COMPLL_BOTH static float narrowed(double x) { return cuda::narrowed(x); }
};

/// Arithmetic with the GPU's own NaN, for a caller that looks for it in the result.
struct Plain {
  static constexpr bool kIsExact = false;
  template <class Real>
  COMPLL_BOTH static Real add(Real a, Real b) {
    return a + b;
  }
  template <class Real>
  COMPLL_BOTH static Real subtract(Real a, Real b) {
    return a - b;
  }
  template <class Real>
  COMPLL_BOTH static Real multiply(Real a, Real b) {
    return a * b;
  }
  template <class Real>
  COMPLL_BOTH static Real divide(Real a, Real b) {
    return a / b;
  }
  template <class Real>
  COMPLL_BOTH static Real or_nan(Real result, Real) {
    return result;
  }
  COMPLL_BOTH static double widened(float x) { return x; }
  COMPLL_BOTH static float narrowed(double x) { return static_cast<float>(x); }
};

}  // namespace casync::compll::cuda
