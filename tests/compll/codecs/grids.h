// SPDX-License-Identifier: Apache-2.0
//
// The two values to which an element is rounded at random, by the formulas of the algorithms rather than by programs.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tests/compll/support/run_codec.h"

namespace casync::compll {

/// x is rounded to `low` or to `high`, with low <= x <= high: to be right on average, to `high` as often as x is near
/// to it. Its variance is then (x - low) (high - x).
struct Cell {
  double low = 0, high = 0;

  double variance(double x) const { return (x - low) * (high - x); }
  double chance_of_high(double x) const { return high > low ? (x - low) / (high - low) : 0; }
};

struct Rounding {
  std::string name;
  Parameters parameters;
  std::function<std::vector<Cell>(std::span<const float>)> cells;
  /// Upper bound of the variance, summed over all elements.
  std::function<double(std::span<const float>)> bound;
};

/// The codecs that are right on average, some with several parameters.
std::vector<Rounding> roundings();

}  // namespace casync::compll
