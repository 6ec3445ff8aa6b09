// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/session/told.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

namespace casync::test {
namespace {

/// Calls change(begin, end) for each block.
template <class Change>
void each_block(std::size_t n, std::size_t block, Change change) {
  for (std::size_t begin = 0; begin < n; begin += block) change(begin, std::min(begin + block, n));
}

double top_of(const Vector& x, std::size_t begin, std::size_t end) {
  double top = 0;
  for (std::size_t i = begin; i < end; ++i) top = std::max(top, std::fabs(x[i]));
  return top;
}

/// So many steps up to a block's largest magnitude; the nearest, ties to even.
Told levels(std::size_t block, double most) {
  return [=](Vector x) {
    each_block(x.size(), block, [&](std::size_t begin, std::size_t end) {
      const double scale = top_of(x, begin, end) / most;
      for (std::size_t i = begin; i < end; ++i) x[i] = scale > 0 ? std::nearbyint(x[i] / scale) * scale : 0;
    });
    return x;
  };
}

/// Floating point with so many bits after the point, and exponents from `least` on; the nearest, ties to even.
double small_float(double x, int fraction, int least) {
  if (x == 0) return 0;
  int exponent = 0;
  std::frexp(x, &exponent);
  const double unit = std::ldexp(1.0, std::max(exponent - 1, least) - fraction);
  return std::nearbyint(x / unit) * unit;
}

Told cast(int fraction, int least) {
  return [=](Vector x) {
    for (double& each : x) each = small_float(each, fraction, least);
    return x;
  };
}

/// The same of what is scaled so that a block's largest magnitude becomes `most`.
Told scaled_cast(std::size_t block, double most, int fraction, int least) {
  return [=](Vector x) {
    each_block(x.size(), block, [&](std::size_t begin, std::size_t end) {
      const double scale = top_of(x, begin, end) / most;
      for (std::size_t i = begin; i < end; ++i) {
        x[i] = scale > 0 ? std::clamp(small_float(x[i] / scale, fraction, least), -most, most) * scale : 0;
      }
    });
    return x;
  };
}

/// The mean of a block's elements of the same sign.
Vector means_of_signs(Vector x) {
  each_block(x.size(), 2048, [&](std::size_t begin, std::size_t end) {
    double sum[2] = {0, 0}, count[2] = {0, 0};
    for (std::size_t i = begin; i < end; ++i) sum[x[i] < 0] += x[i], count[x[i] < 0] += 1;
    for (std::size_t i = begin; i < end; ++i) x[i] = sum[x[i] < 0] / count[x[i] < 0];
  });
  return x;
}

/// Plus or minus a block's mean magnitude.
Vector mean_magnitude(Vector x) {
  each_block(x.size(), 2048, [&](std::size_t begin, std::size_t end) {
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += std::fabs(x[i]);
    for (std::size_t i = begin; i < end; ++i) x[i] = std::copysign(sum / static_cast<double>(end - begin), x[i]);
  });
  return x;
}

Vector signs(Vector x) {
  for (double& each : x) each = each < 0 ? -1 : 1;
  return x;
}

Told threshold_values(double tau) {
  return [=](Vector x) {
    for (double& each : x) each = each >= tau ? tau : each <= -tau ? -tau : 0;
    return x;
  };
}

/// The places of the largest magnitudes, the first of equal ones, in any order.
std::vector<std::size_t> largest(const Vector& x, double ratio) {
  std::vector<std::size_t> places(x.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  const auto k = std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(ratio * static_cast<double>(x.size()))));
  const auto before = [&](std::size_t a, std::size_t b) {
    const double one = std::fabs(x[a]), other = std::fabs(x[b]);
    return one != other ? one > other : a < b;
  };
  std::nth_element(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(k - 1), places.end(), before);
  places.resize(k);
  return places;
}

Told largest_values(double ratio) {
  return [=](const Vector& x) {
    Vector told(x.size(), 0.0);
    for (const std::size_t i : largest(x, ratio)) told[i] = x[i];
    return told;
  };
}

/// As signs and their mean magnitude.
Told largest_signs(double ratio) {
  return [=](const Vector& x) {
    const std::vector<std::size_t> places = largest(x, ratio);
    double sum = 0;
    for (const std::size_t i : places) sum += std::fabs(x[i]);
    Vector told(x.size(), 0.0);
    for (const std::size_t i : places) told[i] = std::copysign(sum / static_cast<double>(places.size()), x[i]);
    return told;
  };
}

/// Sends signs and one of two means: of what is below an edge, or of the rest. The edge is the mean of all at first,
/// and then four times the middle between both means.
Told largest_means(double ratio) {
  return [=](const Vector& x) {
    const std::vector<std::size_t> places = largest(x, ratio);
    double edge = 0, mean[2] = {0, 0};
    for (const std::size_t i : places) edge += std::fabs(x[i]) / static_cast<double>(places.size());
    for (int step = 0; step < 5; ++step) {
      if (step > 0) edge = (mean[0] + mean[1]) / 2;
      double sum[2] = {0, 0}, count[2] = {0, 0};
      for (const std::size_t i : places) {
        const bool larger = std::fabs(x[i]) > edge;
        sum[larger] += std::fabs(x[i]), count[larger] += 1;
      }
      for (const int side : {0, 1}) mean[side] = count[side] > 0 ? sum[side] / count[side] : edge;
    }
    Vector told(x.size(), 0.0);
    for (const std::size_t i : places) told[i] = std::copysign(mean[std::fabs(x[i]) > edge], x[i]);
    return told;
  };
}

/// The nearest of the published levels of 4-bit NormalFloat, times a block's largest magnitude.
Vector normal_float(Vector x) {
  const double levels[] = {-1,
                           -0.6961928009986877,
                           -0.5250730514526367,
                           -0.39491748809814453,
                           -0.28444138169288635,
                           -0.18477343022823334,
                           -0.09105003625154495,
                           0,
                           0.07958029955625534,
                           0.16093020141124725,
                           0.24611230194568634,
                           0.33791524171829224,
                           0.44070982933044434,
                           0.5626170039176941,
                           0.7229568362236023,
                           1};
  each_block(x.size(), 64, [&](std::size_t begin, std::size_t end) {
    const double top = top_of(x, begin, end);
    for (std::size_t i = begin; i < end; ++i) {
      const auto is_less = [&](double level, double value) { return level * top < value; };
      const double* above = std::lower_bound(std::begin(levels), std::end(levels) - 1, x[i], is_less);
      if (above != levels && x[i] - above[-1] * top <= above[0] * top - x[i]) --above;
      x[i] = *above * top;
    }
  });
  return x;
}

/// The least mean square levels of a unit Gaussian, 0.4528 and from 0.9816 deviations on 1.5104, times what they fit
/// a block's elements with best.
Vector four_levels(Vector x) {
  each_block(x.size(), 64, [&](std::size_t begin, std::size_t end) {
    double squares = 0, along = 0, norm = 0;
    for (std::size_t i = begin; i < end; ++i) squares += x[i] * x[i];
    const double edge = 0.9816 * std::sqrt(squares / static_cast<double>(end - begin));
    const auto level = [&](double value) { return std::fabs(value) > edge ? 1.5104 : 0.4528; };
    for (std::size_t i = begin; i < end; ++i) along += std::fabs(x[i]) * level(x[i]), norm += level(x[i]) * level(x[i]);
    for (std::size_t i = begin; i < end; ++i) x[i] = std::copysign(level(x[i]) * along / norm, x[i]);
  });
  return x;
}

Vector same(const Vector& x) { return x; }

/// Elements above the threshold as they are, zeros for the others.
Told values_above(double threshold) {
  return [threshold](Vector x) {
    for (double& value : x) value = std::fabs(value) > threshold ? value : 0;
    return x;
  };
}

std::string with(const std::string& name, const std::string& parameter, const std::string& value) {
  return "name: \"" + name + "\" param { key: \"" + parameter + "\" value: " + value + " }";
}

}  // namespace

std::vector<ToldCodec> told_codecs() {
  const auto named = [](const std::string& name) { return "name: \"" + name + "\""; };
  return {{named("none"), same},
          {named("bf16"), cast(7, -126), false, false, 0x1p-7},
          {with("bf16", "feedback", "1"), cast(7, -126), true, false, 0x1p-7},
          {named("fp16"), cast(10, -14), false, false, 0x1p-10},
          {named("int8"), levels(256, 127), true, false, 1.0 / 127},
          {named("int4"), levels(128, 7), true, false, 1.0 / 7},
          {named("int2"), levels(64, 1), true, false, 1},
          {named("fp8_e4m3"), scaled_cast(256, 448, 3, -6), false, false, 0x1p-3},
          {named("fp8_e5m2"), scaled_cast(256, 57344, 2, -14), false, false, 0x1p-2},
          {named("onebit"), means_of_signs, true, false, 2},
          {named("efsign"), mean_magnitude, true, false, 2},
          {named("signsgd"), signs, false, true, 2},
          {with("tbq", "tau", "0.75"), threshold_values(0.75), true, false, 1},
          {with("topk", "ratio", "0.05"), largest_values(0.05), true, false, 2},
          {with("stc", "ratio", "0.05"), largest_signs(0.05), true, false, 2},
          {with("topk_lloyd", "ratio", "0.05"), largest_means(0.05), true, false, 2},
          {named("lossless"), same},
          {with("threshold_coded", "tau", "0.75"), values_above(0.75), true, false, 2},
          {with("topk_coded", "ratio", "0.05"), largest_means(0.05), true, false, 2},
          {named("nf4"), normal_float, true, false, 0.31},
          {named("lloyd2"), four_levels, true, false, 2}};
}

}  // namespace casync::test
