// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/support/reference/signs.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "compll/ops/scaled.h"

namespace casync::compll::reference {
namespace {

constexpr std::size_t kLanes = 16;

constexpr std::size_t kChunk = 4096;

// The order of additions is part of the meaning: element i of a chunk into lane i mod 16, then halves onto halves; and
// the same with the sums of chunks.
double sum_of(const std::vector<double>& values) {
  std::vector<double> sums;
  for (std::size_t first = 0; first < values.size(); first += kChunk) {
    std::array<double, kLanes> lanes{};
    const std::size_t size = std::min(kChunk, values.size() - first);
    for (std::size_t i = 0; i < size; ++i) lanes[i % kLanes] += values[first + i];
    for (std::size_t half = kLanes / 2; half != 0; half /= 2) {
      for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    }
    sums.push_back(lanes[0]);
  }
  return sums.empty() ? 0 : sums.size() == 1 ? sums[0] : sum_of(sums);
}

float mean(double sum, std::ptrdiff_t count) {
  return count == 0 ? 0.0f : static_cast<float>(sum / static_cast<double>(count));
}

}  // namespace

SignBlock encode_signs(std::span<const float> p) {
  SignBlock block;
  block.finite = std::all_of(p.begin(), p.end(), [](float value) { return std::isfinite(value); });
  std::vector<double> above(p.begin(), p.end()), below(p.size());
  for (std::size_t i = 0; i < p.size(); ++i) {
    block.negative.push_back(p[i] < 0);
    if (block.negative[i]) std::swap(above[i], below[i]);
  }
  const std::ptrdiff_t negatives = std::count(block.negative.begin(), block.negative.end(), true);
  const float nan = std::bit_cast<float>(kFloat32NaN);
  block.at_least_zero = block.finite ? mean(sum_of(above), std::ssize(p) - negatives) : nan;
  block.below_zero = block.finite ? mean(sum_of(below), negatives) : nan;
  for (std::size_t i = 0; i < p.size(); ++i) {
    block.residual.push_back(p[i] - (block.negative[i] ? block.below_zero : block.at_least_zero));
  }
  return block;
}

}  // namespace casync::compll::reference
