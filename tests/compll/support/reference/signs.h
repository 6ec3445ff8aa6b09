// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace casync::compll::reference {

/// A block as its signs and the mean of either sign.
struct SignBlock {
  float at_least_zero = 0, below_zero = 0;  ///< means; 0 of nothing, NaN where the block is not finite
  bool finite = true;
  std::vector<bool> negative;
  std::vector<float> residual;
};

/// Encodes one block of p.
SignBlock encode_signs(std::span<const float> p);

}  // namespace casync::compll::reference
