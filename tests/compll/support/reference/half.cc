// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/support/reference/half.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace casync::compll::reference {
namespace {

struct Format {
  int fraction_bits;
  int least_exponent;  // of normal numbers
  int infinity;        // its code
};

Format format_of(DType dtype) { return dtype == DType::kFloat16 ? Format{10, -14, 0x7c00} : Format{7, -126, 0x7f80}; }

}  // namespace

std::uint16_t encode_half(DType dtype, float value) {
  const Format format = format_of(dtype);
  const int sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) {
    // The quiet bit is set and the upper part of the payload kept.
    const auto fraction = static_cast<int>(std::bit_cast<std::uint32_t>(value) >> (23 - format.fraction_bits));
    const int mask = (1 << format.fraction_bits) - 1;
    return static_cast<std::uint16_t>(sign | format.infinity | 1 << (format.fraction_bits - 1) | (fraction & mask));
  }
  if (std::isinf(value) || value == 0) {
    return static_cast<std::uint16_t>(sign | (value == 0 ? 0 : format.infinity));
  }
  // The magnitude in units of the last place, which a double holds exactly; nearbyint rounds ties to even.
  const int exponent = std::max(std::ilogb(value), format.least_exponent);
  const double units =
      std::nearbyint(std::ldexp(std::fabs(static_cast<double>(value)), format.fraction_bits - exponent));
  const int code = static_cast<int>(units) + ((exponent - format.least_exponent) << format.fraction_bits);
  return static_cast<std::uint16_t>(sign | std::min(code, format.infinity));
}

float decode_half(DType dtype, std::uint16_t code) {
  const Format format = format_of(dtype);
  const float sign = (code & 0x8000) != 0 ? -1.0f : 1.0f;
  const int magnitude = code & 0x7fff;
  const int fraction = magnitude & ((1 << format.fraction_bits) - 1);
  const int field = magnitude >> format.fraction_bits;
  if (magnitude == format.infinity) return sign * std::numeric_limits<float>::infinity();
  if (magnitude > format.infinity) {
    const auto bits = static_cast<std::uint32_t>(fraction) << (23 - format.fraction_bits);
    const std::uint32_t quiet = dtype == DType::kFloat16 ? 0x400000u : 0u;  // as machines convert it
    return std::bit_cast<float>((sign < 0 ? 0x80000000u : 0u) | 0x7f800000u | quiet | bits);
  }
  const int units = field == 0 ? fraction : fraction + (1 << format.fraction_bits);
  const int exponent = std::max(field, 1) - 1 + format.least_exponent - format.fraction_bits;
  return sign * std::ldexp(static_cast<float>(units), exponent);
}

}  // namespace casync::compll::reference
