// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/profile/fit.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>

namespace casync::tools {
namespace {

/// No size takes longer than a larger one.
std::vector<Curve::Point> undisturbed(std::vector<Curve::Point> points) {
  for (std::size_t i = points.size(); i-- > 0;) {
    const double next = i + 1 < points.size() ? points[i + 1].seconds : points[i].seconds;
    points[i].seconds = std::min(rounded(points[i].seconds), next);
  }
  for (Curve::Point& point : points) point.seconds = rounded(point.seconds);
  return points;
}

double off(const Curve& curve, const Curve::Point& point) {
  return point.seconds > 0 ? std::abs(curve.at(point.size) - point.seconds) / point.seconds : 0;
}

}  // namespace

double rounded(double seconds) {
  if (!(seconds > 0)) return 0;
  // By decimal digits: a multiple of a power of ten would print with seventeen of them.
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.4g", seconds);
  return std::strtod(digits, nullptr);
}

std::vector<Elements> measured_sizes(Elements first, Elements times, Elements most) {
  std::vector<Elements> sizes;
  for (Elements size = first; size <= most; size *= times) sizes.push_back(size);
  if (sizes.size() < 2) sizes.insert(sizes.begin(), first / 2);
  return sizes;
}

Fit fit_curve(const std::vector<Curve::Point>& measured, std::size_t most, double enough) {
  Fit fit;
  if (measured.empty()) return fit;
  const std::vector<Curve::Point> points = undisturbed(measured);
  std::set<std::size_t> knots{0, points.size() - 1};
  while (true) {
    fit.curve.points.clear();
    for (const std::size_t knot : knots) fit.curve.points.push_back(points[knot]);
    const auto farthest = std::max_element(points.begin(), points.end(), [&](const auto& a, const auto& b) {
      return off(fit.curve, a) < off(fit.curve, b);
    });
    if (knots.size() >= most || off(fit.curve, *farthest) <= enough) break;
    knots.insert(static_cast<std::size_t>(farthest - points.begin()));
  }
  for (const Curve::Point& point : measured) {
    fit.worst = std::max(fit.worst, off(fit.curve, point));
    fit.mean += off(fit.curve, point) / static_cast<double>(measured.size());
  }
  return fit;
}

Line fit_line(const std::vector<Curve::Point>& measured) {
  // Least squares of (fixed + slope * size) / seconds - 1.
  double one = 0, size = 0, size_size = 0, seconds = 0, size_seconds = 0;
  for (const Curve::Point& point : measured) {
    if (!(point.seconds > 0)) continue;
    const double weight = 1 / (point.seconds * point.seconds);
    one += weight;
    size += weight * point.size;
    size_size += weight * point.size * point.size;
    seconds += weight * point.seconds;
    size_seconds += weight * point.size * point.seconds;
  }
  Line line;
  if (one == 0) return line;
  const double spread = one * size_size - size * size;
  line.slope = spread > 0 ? std::max(0.0, (one * size_seconds - size * seconds) / spread) : 0;
  line.fixed = (seconds - line.slope * size) / one;
  if (line.fixed < 0) {
    line.fixed = 0;
    line.slope = size_seconds / size_size;
  }
  for (const Curve::Point& point : measured) {
    if (!(point.seconds > 0)) continue;
    const double off = std::abs(line.fixed + line.slope * point.size - point.seconds) / point.seconds;
    line.worst = std::max(line.worst, off);
    line.mean += off / static_cast<double>(measured.size());
  }
  return line;
}

}  // namespace casync::tools
