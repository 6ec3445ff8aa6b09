// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "compll/ops/scaled.h"

namespace casync::compll::reference {

/// The scale of a block, and its reciprocal. Level q stands for q * scale, -most <= q <= most.
struct BlockScale {
  float scale = 0;
  float inverse = 0;  ///< 0 if the codes are all zero: no element is above zero, or not all are finite

  bool is_finite() const { return scale == scale; }
};

/// Below it the reciprocal would leave the range of float32. Such a block is zero, and feedback keeps it.
inline constexpr float kLeastScale = 0x1p-120f;

/// The scale of a block whose largest magnitude has the bits `top`: level_scale() of compll/lang/check/prelude.cll.
inline BlockScale block_scale(std::uint32_t top, float most) {
  if (top >= kFloat32Infinity) return {std::bit_cast<float>(kFloat32NaN), 0};
  float scale = std::bit_cast<float>(top) / most;
  if (scale < kLeastScale) return {};
  // A largest magnitude near the end of float32's range may not decode to infinity.
  if (most * scale > std::numeric_limits<float>::max()) scale = std::nextafter(scale, 0.0f);
  // Encoding `most * scale` again has to give the same scale, or codes of codes would drift. Division is not the
  // inverse of multiplication for one scale in 128 (8 when most is 7); for the scales that this line gives it is.
  scale = most * scale / most;
  return {scale, 1 / scale};
}

/// A block as whole multiples of its scale.
struct LevelBlock {
  float scale = 0;
  bool finite = true;
  std::vector<int> levels;
  std::vector<float> residual;  ///< p - level * scale; NaN where the block is not finite
};

/// Encodes one block of p: -most <= level <= most.
LevelBlock encode_levels(std::span<const float> p, float most);

}  // namespace casync::compll::reference
