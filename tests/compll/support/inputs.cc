// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/support/inputs.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <utility>

#include "tests/support/drawn.h"

namespace casync::compll {
namespace {

std::vector<float> each(Elements n, const std::function<double(Elements)>& value) {
  std::vector<float> values(n);
  for (Elements i = 0; i < n; ++i) values[i] = static_cast<float>(value(i));
  return values;
}

/// By the number of elements and the seed.
using Drawn = casync::test::Drawn<std::pair<Elements, std::uint32_t>>;

// One special value in the midst of ordinary ones.
std::vector<float> with_one(Elements n, float special) {
  std::vector<float> values = gaussian(n, 3);
  if (n != 0) values[n / 2] = special;
  return values;
}

}  // namespace

std::vector<Elements> sizes() { return {0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 127, 128, 129, 1000, 4099, 65537}; }

std::vector<float> gaussian(Elements n, std::uint32_t seed) {
  static Drawn drawn;
  return drawn.get({n, seed}, [&] {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    return each(n, [&](Elements) { return normal(random); });
  });
}

std::vector<float> laplace(Elements n, std::uint32_t seed) {
  static Drawn drawn;
  return drawn.get({n, seed}, [&] {
    std::mt19937 random(seed);
    std::exponential_distribution<double> exponential;
    std::bernoulli_distribution coin;
    return each(n, [&](Elements) { return coin(random) ? exponential(random) : -exponential(random); });
  });
}

std::vector<Input> inputs(Elements n) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  std::mt19937 random(5);
  std::uniform_real_distribution<double> exponent(-30, 30);
  std::normal_distribution<double> normal;
  const bool some = n != 0;  // the special value is there
  return {
      {"zeros", each(n, [](Elements) { return 0.0; })},
      {"constant", each(n, [](Elements) { return 0.1; })},
      {"negative constant", each(n, [](Elements) { return -3.7; })},
      {"one hot", each(n, [&](Elements i) { return i == n / 2 ? -2.5 : 0.0; })},
      {"alternating", each(n, [](Elements i) { return i % 2 == 0 ? 1.0 : -1.0; })},
      {"all negative", each(n, [](Elements i) { return -1.0 / static_cast<double>(i + 1); })},
      {"ramp", each(n, [&](Elements i) { return static_cast<double>(i) - static_cast<double>(n) / 3; })},
      {"gaussian", gaussian(n, 1)},
      {"laplace", laplace(n, 2)},
      {"99 % zeros", each(n, [&](Elements i) { return i % 100 == 7 ? normal(random) : 0.0; })},
      {"denormals", each(n, [](Elements i) { return (i % 3 == 0 ? -1e-40 : 3e-41) * static_cast<double>(i % 5); })},
      {"1e-30 to 1e30", each(n, [&](Elements) { return normal(random) * std::pow(10.0, exponent(random)); })},
      {"tied maxima", each(n, [](Elements i) { return i % 4 == 0 ? 2.0 : (i % 4 == 1 ? -2.0 : 0.3); })},
      {"negative zeros", each(n, [](Elements i) { return i % 2 == 0 ? -0.0 : 1e-3; })},
      {"largest", each(n, [&](Elements i) { return i % 2 == 0 ? kLargest : -kLargest / 3; })},
      {"NaN", with_one(n, std::nanf("1")), !some},
      {"infinity", with_one(n, kInfinity), !some},
      {"negative infinity", with_one(n, -kInfinity), !some},
  };
}

}  // namespace casync::compll
