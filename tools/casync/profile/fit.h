// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/units.h"
#include "casync/simulator/curve.h"

namespace casync::tools {

/// Rounds to four digits; a value that is not above 0 gives 0.
double rounded(double seconds);

/// The sizes from `first` on, each `times` as large as the one before it, up to `most`; at least two, as a curve of one
/// size takes equally long for all others. `most` is at least `first`, and `first` at least 2.
std::vector<Elements> measured_sizes(Elements first, Elements times, Elements most);

/// A curve through what was measured, and how far it is off.
struct Fit {
  Curve curve;
  double worst = 0;  ///< of the measured points: |curve - seconds| over seconds
  double mean = 0;
};

/// Straight lines between at most `most` of the measured points. Others on the machine only ever add time: what takes
/// longer than a larger size was disturbed, and takes that one's seconds. The point that is farthest off joins next,
/// until all are within `enough`. Sizes ascend; no points, no curve. Seconds are rounded to four digits.
Fit fit_curve(const std::vector<Curve::Point>& measured, std::size_t most, double enough);

/// fixed + slope * size, nearest in relative terms to what was measured; neither is below 0.
struct Line {
  double fixed = 0, slope = 0;
  double worst = 0, mean = 0;  ///< as Fit
};
Line fit_line(const std::vector<Curve::Point>& measured);

}  // namespace casync::tools
