// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/support/reference/levels.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace casync::compll::reference {

LevelBlock encode_levels(std::span<const float> p, float most) {
  std::uint32_t top = 0;
  for (float value : p) top = std::max(top, std::bit_cast<std::uint32_t>(std::fabs(value)));
  const BlockScale scale = block_scale(top, most);
  LevelBlock block{scale.scale, scale.is_finite(), {}, {}};
  for (float value : p) {
    const int level = block.finite ? static_cast<int>(std::nearbyint(value * scale.inverse)) : 0;
    block.levels.push_back(level);
    block.residual.push_back(block.finite ? value - static_cast<float>(level) * scale.scale : scale.scale);
  }
  return block;
}

}  // namespace casync::compll::reference
