// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/codec_figures/samples.h"

#include <cmath>
#include <limits>
#include <random>

namespace casync::tools {
namespace {

template <class Value>
std::vector<float> each(Elements n, const Value& value) {
  std::vector<float> values(n);
  for (Elements i = 0; i < n; ++i) values[i] = static_cast<float>(value(i));
  return values;
}

std::vector<float> with_one(Elements n, float special) {
  std::vector<float> values = gaussian_sample(n, 3);
  if (n != 0) values[n / 2] = special;
  return values;
}

}  // namespace

std::vector<Elements> sample_sizes() { return {0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 127, 128, 129, 1000, 4099, 65537}; }

std::vector<float> gaussian_sample(Elements n, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  return each(n, [&](Elements) { return normal(random); });
}

std::vector<float> heavy_sample(Elements n, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  return each(n, [&](Elements) {
    const double value = normal(random);
    return value * std::exp(2 * normal(random));
  });
}

std::vector<Sample> samples(Elements n) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  const auto not_finite = n == 0 ? Sample::Kind::kOrdinary : Sample::Kind::kNotFinite;
  return {
      {"zeros", each(n, [](Elements) { return 0.0; })},
      {"equal elements", each(n, [](Elements) { return 0.1; })},
      {"gaussian", gaussian_sample(n, 1)},
      {"heavy tails", heavy_sample(n, 2)},
      {"one element", each(n, [&](Elements i) { return i == n / 2 ? -2.5 : 0.0; })},
      {"small", each(n, [](Elements i) { return 1e-5 * std::cos(static_cast<double>(i)); })},
      {"tiny", each(n, [](Elements i) { return 1e-25 * std::cos(static_cast<double>(i)); }), Sample::Kind::kExtreme},
      {"denormals", each(n, [](Elements i) { return (i % 3 == 0 ? -1e-40 : 3e-41) * static_cast<double>(i % 5); }),
       Sample::Kind::kExtreme},
      {"huge", each(n, [&](Elements i) { return i % 2 == 0 ? kLargest : -kLargest / 3; }), Sample::Kind::kExtreme},
      {"NaN", with_one(n, std::nanf("1")), not_finite},
      {"infinity", with_one(n, -std::numeric_limits<float>::infinity()), not_finite},
  };
}

}  // namespace casync::tools
