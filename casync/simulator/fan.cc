// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/fan.h"

#include <cmath>

namespace casync {

double Fan::at(int peers) const {
  Point before{1, 1};
  for (const Point& point : points) {
    if (peers <= before.peers) break;
    if (peers <= point.peers) {
      const double part = static_cast<double>(peers - before.peers) / (point.peers - before.peers);
      return before.slowdown + part * (point.slowdown - before.slowdown);
    }
    before = point;
  }
  return before.slowdown;
}

std::string fault_of_point(const std::vector<Fan::Point>& points, std::size_t index) {
  const Fan::Point& point = points[index];
  if (point.peers < 2) return "peers below 2";
  if (index > 0 && point.peers <= points[index - 1].peers) return "peers that are not above those before";
  if (!std::isfinite(point.slowdown) || point.slowdown < 1) return "a slowdown below 1, or not finite";
  return "";
}

}  // namespace casync
