// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace casync {

/// Seconds by size (elements or bytes; the curve's owner says which): straight lines between points, the first
/// point's seconds below it, the last line's slope beyond it. Without points it is 0 everywhere.
struct Curve {
  struct Point {
    double size = 0;
    double seconds = 0;
    bool operator==(const Point&) const = default;
  };
  std::vector<Point> points;  ///< ascending sizes; a single one is a constant

  bool empty() const { return points.empty(); }
  double at(double size) const;
  bool operator==(const Curve&) const = default;

  /// fixed + per_unit * size.
  static Curve affine(double fixed, double per_unit) { return {{{0, fixed}, {1, fixed + per_unit}}}; }
};

/// Returns the error in point `index` of `points`, given that earlier points are right; empty: none. Sizes and
/// seconds are finite and not negative, sizes ascend, and more never takes less time.
std::string fault_of_point(const std::vector<Curve::Point>& points, std::size_t index);

}  // namespace casync
