// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/curve.h"

#include <algorithm>
#include <cmath>

namespace casync {

double Curve::at(double size) const {
  if (points.empty()) return 0;
  if (points.size() == 1 || size <= points.front().size) return points.front().seconds;
  auto after = std::find_if(points.begin() + 1, points.end(), [&](const Point& point) { return size <= point.size; });
  if (after == points.end()) --after;
  const Point& from = *(after - 1);
  return from.seconds + (size - from.size) * (after->seconds - from.seconds) / (after->size - from.size);
}

std::string fault_of_point(const std::vector<Curve::Point>& points, std::size_t index) {
  const Curve::Point& point = points[index];
  const auto usable = [](double value) { return std::isfinite(value) && value >= 0; };
  if (!usable(point.size)) return "a size that is negative or not finite";
  if (!usable(point.seconds)) return "seconds that are negative or not finite";
  if (index == 0) return "";
  if (point.size <= points[index - 1].size) return "a size that is not above the one before it";
  if (point.seconds < points[index - 1].seconds) return "less seconds than the smaller size before it";
  return "";
}

}  // namespace casync
