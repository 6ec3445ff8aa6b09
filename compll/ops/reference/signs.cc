// SPDX-License-Identifier: Apache-2.0
#include "compll/ops/reference/signs.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "compll/ops/scaled.h"

namespace casync::compll::reference {
namespace {

constexpr std::size_t kLanes = 16;

// The order of additions is part of the meaning: element i into lane i mod 16, then halves onto halves.
struct Sum {
  std::array<double, kLanes> lanes{};
  std::size_t count = 0;

  void add(std::size_t i, float value) {
    lanes[i % kLanes] += value;
    ++count;
  }
  float mean() const {
    std::array<double, kLanes> sums = lanes;
    for (std::size_t half = kLanes / 2; half != 0; half /= 2) {
      for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
    }
    return count == 0 ? 0.0f : static_cast<float>(sums[0] / static_cast<double>(count));
  }
};

}  // namespace

SignBlock encode_signs(std::span<const float> p) {
  SignBlock block;
  block.finite = std::all_of(p.begin(), p.end(), [](float value) { return std::isfinite(value); });
  Sum above, below;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const bool negative = block.finite && p[i] < 0;
    block.negative.push_back(negative);
    (negative ? below : above).add(i, p[i]);
  }
  const float nan = std::bit_cast<float>(kFloat32NaN);
  block.at_least_zero = block.finite ? above.mean() : nan;
  block.below_zero = block.finite ? below.mean() : nan;
  for (std::size_t i = 0; i < p.size(); ++i) {
    block.residual.push_back(p[i] - (block.negative[i] ? block.below_zero : block.at_least_zero));
  }
  return block;
}

}  // namespace casync::compll::reference
