// SPDX-License-Identifier: Apache-2.0
//
// nf4 and lloyd2: levels that are not equally far from each other. They are computed here from the normal distribution.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "tests/compll/codecs/promises.h"
#include "tests/compll/support/inputs.h"

namespace casync::compll {
namespace {

double density(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * M_PI); }
double share_below(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }

/// The number below which this share of a Gaussian's elements is, by halving.
double quantile(double share) {
  double low = -10, high = 10;
  for (int step = 0; step < 100; ++step) (share_below((low + high) / 2) < share ? low : high) = (low + high) / 2;
  return low;
}

/// The paper's table: of 2^4 + 1 quantiles from each end, those at equal distances, eight on one side and seven on the
/// other, between them zero; all divided by the outermost.
std::vector<double> normal_float() {
  const double end = 1 - (1.0 / 32 + 1.0 / 30) / 2, outermost = quantile(end);
  std::vector<double> levels = {0};
  for (int i = 0; i < 8; ++i) levels.push_back(quantile(end - (end - 0.5) * i / 8) / outermost);
  for (int i = 0; i < 7; ++i) levels.push_back(-quantile(end - (end - 0.5) * i / 7) / outermost);
  std::sort(levels.begin(), levels.end());
  return levels;
}

/// Levels of the magnitude and the edge between them that lose least of a unit Gaussian, by Lloyd's iteration.
struct TwoLevels {
  double inner = 0.5, outer = 1.5;
  double edge() const { return (inner + outer) / 2; }
  double share_of_outer() const { return 2 * share_below(-edge()); }
  double lost() const { return 1 - (1 - share_of_outer()) * inner * inner - share_of_outer() * outer * outer; }
};

TwoLevels least_of_gaussian() {
  TwoLevels levels;
  for (int step = 0; step < 1000; ++step) {
    const double edge = levels.edge(), beyond = levels.share_of_outer();
    levels.inner = 2 * (density(0) - density(edge)) / (1 - beyond);
    levels.outer = 2 * density(edge) / beyond;
  }
  return levels;
}

template <class Check>
void each_block(const char* name, const Check& check) {
  for (const Elements block : {16, 48, 64, 1024}) {
    const Written written = from_source(name, {{"block", static_cast<double>(block)}});
    for (const Elements n : {1, 2, 15, 17, 65, 1000, 4099}) {
      for (const Input& input : inputs(n)) {
        if (!input.finite || !holds_for({0x1p-110, 1e37}, input.values)) continue;
        INFO(name << ", block " << block << ", n " << n << ", " << input.name);
        const std::vector<float> decoded = round_trip(*written.codec, input.values);
        for (Elements begin = 0; begin < n; begin += block) {
          const Elements count = std::min(block, n - begin);
          check(std::span(input.values).subspan(begin, count), std::span(decoded).subspan(begin, count));
        }
      }
    }
  }
}

double lost_by(const Written& written, const std::vector<float>& x) {
  return relative_error(x, round_trip(*written.codec, x));
}

}  // namespace

TEST_CASE("nf4: its levels are the quantiles of a Gaussian that the paper takes") {
  std::vector<float> x;
  for (int i = -5000; i <= 5000; ++i) x.push_back(static_cast<float>(i) / 5000);
  const std::vector<float> decoded = round_trip(*from_source("nf4", {{"block", 65536}}).codec, x);
  REQUIRE(std::all_of(decoded.begin(), decoded.end(), [](float value) { return std::isfinite(value); }));
  const std::set<float> found(decoded.begin(), decoded.end());
  const std::vector<double> wanted = normal_float();
  REQUIRE(found.size() == wanted.size());
  CHECK(std::equal(found.begin(), found.end(), wanted.begin(),
                   [](float a, double b) { return std::fabs(a - b) < 1e-5; }));
}

TEST_CASE("nf4: each element becomes the nearest level of its block") {
  const std::vector<double> levels = normal_float();
  each_block("nf4", [&](std::span<const float> x, std::span<const float> decoded) {
    double top = 0;
    for (const float value : x) top = std::max(top, std::fabs(static_cast<double>(value)));
    if (top < 0x1p-110) return;  // sent as zeros, or scaled with less than a float's precision
    std::size_t wrong = 0;
    for (Elements i = 0; i < x.size(); ++i) {
      double least = HUGE_VAL;
      for (const double level : levels) least = std::min(least, std::fabs(x[i] - level * top));
      wrong += !(std::fabs(static_cast<double>(x[i]) - decoded[i]) <= least + 1e-5 * top);
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("nf4: it loses less of a Gaussian than equal steps do, and a wrong midpoint would be noticed") {
  const std::vector<float> x = gaussian(1 << 16, 1);
  const double lost = lost_by(from_source("nf4"), x);
  CHECK(lost < 0.9 * lost_by(from_source("int4", {{"block", 64}}), x));
  const std::string wrong = changed(source_of("nf4"), "x > 0.1202552504837513", "x > 0.13");
  CHECK(lost_by(from_text("nf4", wrong), x) > 1.005 * lost);
}

TEST_CASE("lloyd2: its levels and its edge are those that lose least of a Gaussian, and it loses as little") {
  const TwoLevels best = least_of_gaussian();
  CHECK(best.lost() == Approx(0.1175).epsilon(0.001));
  const std::vector<float> x = gaussian(1 << 18, 1);
  const Written written = from_source("lloyd2", {{"block", 65536}});
  CHECK(lost_by(written, x) == Approx(best.lost()).epsilon(0.01));
  const std::vector<float> decoded = round_trip(*written.codec, x);
  std::set<float> found;
  float largest_inner = 0;
  for (Elements i = 0; i < 65536; ++i) {
    found.insert(std::fabs(decoded[i]));
    if (std::fabs(decoded[i]) == *found.begin()) largest_inner = std::max(largest_inner, std::fabs(x[i]));
  }
  REQUIRE(found.size() == 2);
  CHECK(*found.rbegin() / *found.begin() == Approx(best.outer / best.inner).epsilon(2e-4));
  const double deviation = std::sqrt(norm_squared(std::span(x).first(65536)) / 65536);
  CHECK(largest_inner / deviation == Approx(best.edge()).epsilon(1e-3));
}

TEST_CASE("lloyd2: the measure of a block is the one with which its codes lose least") {
  const TwoLevels best = least_of_gaussian();
  each_block("lloyd2", [&](std::span<const float> x, std::span<const float> decoded) {
    const double edge = best.edge() * std::sqrt(norm_squared(x) / static_cast<double>(x.size()));
    double along = 0, levels = 0;
    const auto level = [&](float value) { return std::fabs(value) > edge ? best.outer : best.inner; };
    for (const float value : x) along += std::fabs(value) * level(value), levels += level(value) * level(value);
    if (along / levels < 0x1p-110) return;
    std::size_t wrong = 0;
    for (Elements i = 0; i < x.size(); ++i) {
      const double wanted = std::copysign(level(x[i]) * along / levels, x[i] < 0 ? -1.0 : 1.0);
      wrong += !(std::fabs(decoded[i] - wanted) <= 2e-4 * std::fabs(wanted));
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE(
    "lloyd2: with the deviation itself as measure, one large element among zeros would come to more than it was") {
  std::vector<float> x(1024, 0.0f);
  x[5] = 1;
  const Parameters parameters = {{"block", 1024}};
  CHECK(lost_by(from_source("lloyd2", parameters), x) < 1);
  const std::string deviation =
      changed(source_of("lloyd2"), "is_finite(a) ? a / l : from_bits(0x7fc00000)", "1.0 / 32 * (a > 0 ? 1 : 0)");
  CHECK(lost_by(from_text("lloyd2", deviation, parameters), x) > 1);
}

}  // namespace casync::compll
