// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace casync {

/// Slowdown of a port by the number of its simultaneous peers: 1 with one peer, straight lines from
/// there between points, and constant beyond the last point. Without points 1 everywhere.
struct Fan {
  struct Point {
    int peers = 0;
    double slowdown = 1;
    bool operator==(const Point&) const = default;
  };
  std::vector<Point> points;  ///< ascending peers, from 2

  bool empty() const { return points.empty(); }
  double at(int peers) const;
  bool operator==(const Fan&) const = default;
};

/// Returns the error in point `index` of `points`, given that earlier points are right; empty: none. Peers ascend
/// from 2, slowdowns are finite and at least 1.
std::string fault_of_point(const std::vector<Fan::Point>& points, std::size_t index);

}  // namespace casync
