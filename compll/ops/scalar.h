// SPDX-License-Identifier: Apache-2.0
//
// The operations of generated codecs on one element, for values of a block or of the tensor, under the names of the
// operations on sixteen elements (ops/cpu/lanes-inl.h). Their meaning is compll/lang/arithmetic.h.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace casync::compll {

template <class T>
constexpr T select(bool condition, T yes, T no) {
  return condition ? yes : no;
}
template <class T>
constexpr T min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
constexpr T max(T a, T b) {
  return a < b ? b : a;
}

inline float abs(float a) { return std::fabs(a); }
inline double abs(double a) { return std::fabs(a); }
constexpr std::int32_t abs(std::int32_t a) {
  return a < 0 ? static_cast<std::int32_t>(0u - static_cast<std::uint32_t>(a)) : a;
}
constexpr std::uint32_t abs(std::uint32_t a) { return a; }
inline float floor(float a) { return std::floor(a); }
inline double floor(double a) { return std::floor(a); }
inline float ceil(float a) { return std::ceil(a); }
inline double ceil(double a) { return std::ceil(a); }
inline float round_even(float a) { return std::nearbyint(a); }
inline double round_even(double a) { return std::nearbyint(a); }
inline float sqrt(float a) { return std::sqrt(a); }
inline double sqrt(double a) { return std::sqrt(a); }
constexpr std::uint32_t bits(float a) { return std::bit_cast<std::uint32_t>(a); }
constexpr float from_bits(std::uint32_t a) { return std::bit_cast<float>(a); }
inline bool is_finite(float a) { return std::isfinite(a); }
inline bool is_finite(double a) { return std::isfinite(a); }

// Integers wrap around; the ends of their ranges divide without a trap.
template <class T>
constexpr T quotient(T a, T b) {
  return b == 0 ? 0 : static_cast<T>(static_cast<std::int64_t>(a) / static_cast<std::int64_t>(b));
}
template <class T>
constexpr T remainder(T a, T b) {
  return b == 0 ? 0 : static_cast<T>(static_cast<std::int64_t>(a) % static_cast<std::int64_t>(b));
}
template <class T>
constexpr T shift_left(T a, T count) {
  return static_cast<T>(static_cast<std::uint32_t>(a) << (static_cast<std::uint32_t>(count) & 31));
}
template <class T>
constexpr T shift_right(T a, T count) {
  return static_cast<T>(a >> (static_cast<std::uint32_t>(count) & 31));
}

template <class T>
constexpr float to_float(T a) {
  return static_cast<float>(a);
}
template <class T>
constexpr double to_double(T a) {
  return static_cast<double>(a);
}
template <class T>
constexpr bool to_bool(T a) {
  return a != 0;
}

/// Converts to an integer of kBits bits, towards zero. Out of range it is the nearest end, for NaN 0.
template <int kBits = 32, class T>
constexpr std::int32_t to_int(T a) {
  constexpr double kMost = static_cast<double>((std::int64_t{1} << (kBits - 1)) - 1), kLeast = -kMost - 1;
  const auto wide = static_cast<double>(a);
  if (wide != wide) return 0;
  return static_cast<std::int32_t>(wide < kLeast ? kLeast : wide > kMost ? kMost : wide);
}
template <int kBits = 32, class T>
constexpr std::uint32_t to_uint(T a) {
  constexpr double kMost = static_cast<double>((std::int64_t{1} << kBits) - 1);
  const auto wide = static_cast<double>(a);
  if (wide != wide) return 0;
  return static_cast<std::uint32_t>(wide < 0 ? 0 : wide > kMost ? kMost : wide);
}

}  // namespace casync::compll
