// SPDX-License-Identifier: Apache-2.0
//
// ATOMO's numbers of elements and its errors, against loops over doubles. Its mean and variance: unbiased_test.cc.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "compll/codec/coded/coded_codec.h"
#include "tests/compll/codecs/promises.h"
#include "tests/compll/support/inputs.h"

namespace casync::compll {
namespace {

constexpr int kTrials = 300;

/// Gaussian noise, with an element in a hundred that is a hundred times as large.
std::vector<float> heavy_tailed(Elements n, std::uint32_t seed) {
  std::vector<float> x = gaussian(n, seed);
  for (Elements i = 50; i < n; i += 100) x[i] *= 100;
  return x;
}

/// The unit after some rounds of Wangni et al., algorithm 3, in doubles.
double unit_of(const std::vector<float>& x, double budget, int rounds) {
  double unit = 0;
  for (const float value : x) unit += std::fabs(value) / budget;
  for (int round = 0; round < rounds; ++round) {
    double certain = 0, rest = 0;
    for (const float value : x) std::fabs(value) >= unit ? certain += 1 : rest += std::fabs(value);
    if (certain < budget) unit = std::min(unit, rest / (budget - certain));
  }
  return unit;
}

double expected_count(const std::vector<float>& x, double unit) {
  double count = 0;
  for (const float value : x) count += std::min(1.0, std::fabs(value) / unit);
  return count;
}

/// The squared error that is expected, by the formula of a Bernoulli variable for each element.
double expected_error(const std::vector<float>& x, double unit) {
  double error = 0;
  for (const float value : x) error += std::fabs(value) * std::max(0.0, unit - std::fabs(value));
  return error;
}

struct Sent {
  double count = 0, most = 0, error = 0;  ///< means over trials, and the largest count
};

Sent sent(const Codec& codec, const std::vector<float>& x) {
  Sent all;
  for (std::uint32_t step = 0; step < kTrials; ++step) {
    const std::vector<float> given = decode(codec, encode(codec, x, {}, {3, 1, step, 0}), x.size());
    double count = 0, error = 0;
    for (Elements i = 0; i < x.size(); ++i) {
      count += given[i] != 0;
      error += (given[i] - x[i]) * (given[i] - x[i]);
    }
    all.count += count / kTrials;
    all.error += error / kTrials;
    all.most = std::max(all.most, count);
  }
  return all;
}

}  // namespace

TEST_CASE("atomo: on average it sends as many elements as the budget has, a few less after few rounds") {
  const Elements n = 20000;
  const double budget = 200;
  for (const auto& [name, x] :
       {std::pair("gaussian", gaussian(n, 1)), {"laplace", laplace(n, 2)}, {"heavy", heavy_tailed(n, 3)}}) {
    for (const int rounds : {0, 1, 2}) {
      const auto codec = codec_of("atomo", {{"ratio", 0.01}, {"rounds", rounds}});
      const double unit = unit_of(x, budget, rounds), expected = expected_count(x, unit);
      const Sent all = sent(*codec, x);
      INFO(name << ", rounds " << rounds << ": expected " << expected << ", sent " << all.count << ", at most "
                << all.most);
      // A count is a sum of independent ones or zeros, with a variance below its mean.
      CHECK(std::fabs(all.count - expected) < 5 * std::sqrt(expected / kTrials));
      CHECK(std::fabs(all.error / expected_error(x, unit) - 1) < 0.05);
      CHECK(expected <= budget * (1 + 1e-9));
      if (rounds == 2) CHECK(expected > 0.999 * budget);
      CHECK(all.most < budget + 8 * std::sqrt(budget));
    }
  }
}

TEST_CASE("atomo: its squared error is below that of as many elements with equal probabilities") {
  const Elements n = 20000;
  for (const auto& [x, most] : {std::pair(gaussian(n, 1), 0.7), {laplace(n, 2), 0.55}, {heavy_tailed(n, 3), 0.02}}) {
    const auto atomo = codec_of("atomo", {{"ratio", 0.01}});
    const double equal = 99 * norm_squared(x), measured = sent(*atomo, x).error;
    INFO("of the error of equal probabilities: " << measured / equal);
    CHECK(measured < most * equal);
  }
}

TEST_CASE("atomo: nothing of zeros, all of few elements, and what is large arrives as it is") {
  const auto codec = codec_of("atomo", {{"ratio", 0.05}});
  CHECK(decode(*codec, encode(*codec, std::vector<float>(3000, 0.0f)), 3000) == std::vector<float>(3000, 0.0f));
  std::vector<float> few(3000, 0.0f);
  for (Elements i = 0; i < 100; ++i) few[29 * i] = static_cast<float>(i + 1);
  CHECK(decode(*codec, encode(*codec, few), 3000) == few);
  std::vector<float> x = gaussian(3000, 1);
  x[7] = -1e6f;
  CHECK(decode(*codec, encode(*codec, x), 3000)[7] == -1e6f);
  for (const float scale : {1e-44f, 1e-38f, 3e38f}) {
    INFO(scale);
    std::vector<float> all(3000, scale);
    const Coded coded = encode(*codec, all);
    CHECK(coded.finite);
    const std::vector<float> given = decode(*codec, coded, 3000);
    CHECK(std::all_of(given.begin(), given.end(), [&](float value) { return value >= 0 && std::isfinite(value); }));
    CHECK(std::count(given.begin(), given.end(), 0.0f) < 3000 - 75);
  }
}

TEST_CASE("atomo: the last elements are left out if there is no room, and the payload is a good one") {
  const Elements n = 5000;
  const Written narrow =
      from_text("atomo", changed(source_of("atomo"), "2 * budget + 320", "budget / 2"), {{"ratio", 0.1}});
  const auto wide = codec_of("atomo", {{"ratio", 0.1}});
  const std::vector<float> x = gaussian(n, 1);
  const Coded coded = encode(*narrow.codec, x);
  CHECK(narrow.codec->check(coded.view(), n).text() == "OK");
  std::vector<float> all = decode(*wide, encode(*wide, x), n);
  const std::vector<float> given = decode(*narrow.codec, coded, n);
  int room = 250;
  for (float& value : all) value = value != 0 && room-- <= 0 ? 0 : value;
  CHECK(given == all);
}

}  // namespace casync::compll
