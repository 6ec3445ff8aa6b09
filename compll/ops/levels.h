// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "compll/ops/scaled.h"

namespace casync::compll {

/// The scale of a block whose largest magnitude has the bits `top`, and its reciprocal. Level q stands for q * scale,
/// -most <= q <= most. Shared by the reference and by all kernels.
struct BlockScale {
  float scale = 0;
  float inverse = 0;  ///< 0 where the codes are all zero: no element is above zero, or not all are finite

  bool is_finite() const { return scale == scale; }
};

/// Below it the reciprocal would leave the range of float32. Such a block is zero, and feedback keeps it.
inline constexpr float kLeastScale = 0x1p-120f;

inline BlockScale block_scale(std::uint32_t top, float most) {
  if (top >= kFloat32Infinity) return {std::bit_cast<float>(kFloat32NaN), 0};
  float scale = std::bit_cast<float>(top) / most;
  if (scale < kLeastScale) return {};
  // A largest magnitude near the end of float32's range may not decode to infinity.
  if (most * scale > std::numeric_limits<float>::max()) scale = std::nextafter(scale, 0.0f);
  // What decodes as `most * scale` has to be given the same scale again, or codes of codes would drift: dividing is
  // not the inverse of multiplying for one scale in 128 (8 when most is 7), and for what comes out here it is.
  scale = most * scale / most;
  return {scale, 1 / scale};
}

}  // namespace casync::compll
