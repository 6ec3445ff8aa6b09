// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace casync::compll::reference {

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
