// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/profile/fit.h"

#include <catch2/catch.hpp>

namespace casync::tools {

TEST_CASE("profile: at least two sizes are measured") {
  using Sizes = std::vector<Elements>;
  CHECK(measured_sizes(512, 8, 1 << 22) == Sizes{512, 4096, 32768, 262144, 2097152});
  CHECK(measured_sizes(512, 8, 4096) == Sizes{512, 4096});
  CHECK(measured_sizes(512, 32, 4096) == Sizes{256, 512});
  CHECK(measured_sizes(32, 4, 32) == Sizes{16, 32});
}

TEST_CASE("profile: a line is two points, and off by nothing") {
  std::vector<Curve::Point> line;
  for (int i = 1; i <= 20; ++i) line.push_back({100.0 * i, 0.5 + 0.01 * i});
  const Fit fit = fit_curve(line, 8, 0.01);
  CHECK(fit.curve.points.size() == 2);
  CHECK(fit.worst < 0.001);
}

TEST_CASE("profile: a bend is found, and a point that was disturbed does not bend the curve") {
  std::vector<Curve::Point> bent;
  for (int i = 1; i <= 20; ++i) bent.push_back({100.0 * i, i <= 10 ? 1.0 : 1.0 + 0.5 * (i - 10)});
  const Fit clean = fit_curve(bent, 8, 0.01);
  CHECK(clean.worst < 0.011);
  CHECK(clean.curve.points.size() <= 4);
  bent[4].seconds = 40;
  const Fit disturbed = fit_curve(bent, 8, 0.01);
  CHECK(disturbed.curve == clean.curve);
  CHECK(disturbed.worst > 0.9);
}

TEST_CASE("profile: any measurement gives a curve that a profile may have") {
  const std::vector<std::vector<Curve::Point>> cases{
      {}, {{5, 1}}, {{1, 3}, {2, 2}, {3, 1}}, {{1, 0}, {2, 0}}, {{1, 1e-9}, {2, 5}, {3, 1e-9}, {4, 6}}};
  for (const std::vector<Curve::Point>& measured : cases) {
    const Fit fit = fit_curve(measured, 3, 0.01);
    CHECK(fit.curve.points.size() <= 3);
    for (std::size_t i = 0; i < fit.curve.points.size(); ++i) CHECK(fault_of_point(fit.curve.points, i).empty());
  }
}

TEST_CASE("profile: a line through points on a line is that line") {
  const Line line = fit_line({{16, 2 + 16 * 0.5}, {64, 2 + 64 * 0.5}, {1024, 2 + 1024 * 0.5}});
  CHECK(line.fixed == Approx(2));
  CHECK(line.slope == Approx(0.5));
  CHECK(line.worst < 1e-9);
  CHECK(fit_line({{7, 3}}).slope == 0);
  CHECK(fit_line({{7, 3}}).fixed == Approx(3));
  CHECK(fit_line({}).slope == 0);
}

TEST_CASE("profile: a line is near in relative terms, says how far it is off, and is negative nowhere") {
  // A point that is a tenth off bends a line by about as much, wherever it is.
  const Line near = fit_line({{10, 1.1}, {100, 10}, {1000, 100}});
  CHECK(near.slope == Approx(0.1).epsilon(0.02));
  CHECK(near.worst > 0.001);
  CHECK(near.worst < 0.1);
  CHECK(near.mean < near.worst);
  const Line falling = fit_line({{1, 9}, {2, 5}, {3, 1}});
  CHECK(falling.slope == 0);
  CHECK(falling.fixed > 0);
  const Line steep = fit_line({{1, 0.01}, {2, 5}, {3, 30}});
  CHECK(steep.fixed >= 0);
  CHECK(steep.slope > 0);
}

}  // namespace casync::tools
