// SPDX-License-Identifier: Apache-2.0
//
// Ternary codes with the scale of all ranks, as interpreted, compared with doubles.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/compll/support/inputs.h"
#include "tests/compll/support/programs.h"
#include "tests/compll/support/round_ranks.h"

namespace casync::compll {
namespace {

using Gradients = std::vector<std::vector<float>>;

Gradients gradients_of(std::size_t ranks, Elements n) {
  Gradients all;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto seed = static_cast<std::uint32_t>(rank);
    all.push_back(rank % 2 == 0 ? gaussian(n, 3 + seed) : laplace(n, 3 + seed));
    for (float& x : all.back()) x *= static_cast<float>(rank + 1);
  }
  return all;
}

double top_of(const std::vector<float>& gradient) {
  double top = 0;
  for (const float x : gradient) top = std::max(top, std::abs(double(x)));
  return top;
}

double deviation_of(const std::vector<float>& gradient) {
  double sum = 0, squares = 0;
  for (const float x : gradient) sum += x, squares += double(x) * x;
  const auto n = static_cast<double>(gradient.size());
  return std::sqrt(squares / n - sum / n * (sum / n));
}

}  // namespace

TEST_CASE("terngrad_shared: its declaration and its exchanges") {
  const auto codec = rounds_from_source("terngrad_shared");
  CHECK(codec->info().exchanges == std::vector<ExchangeKind>{ExchangeKind::kMax, ExchangeKind::kElias});
  CHECK_FALSE(codec->info().of_matrices);
  CHECK(codec->shape(1000, 1).exchanged == std::vector<Elements>{1, 1000});
  CHECK(codec->shape(1000, 1).states == 0);
}

TEST_CASE("terngrad_shared: the scale is the largest magnitude of all ranks, or the largest limit") {
  for (const double clip : {0.0, 1.5}) {
    const auto codec = rounds_from_source("terngrad_shared", {{"clip", clip}});
    for (const std::size_t ranks : {1, 2, 3, 4}) {
      const Gradients gradients = gradients_of(ranks, 1000);
      double wanted = 0;
      for (const std::vector<float>& each : gradients) {
        wanted = std::max(wanted, clip > 0 ? std::min(top_of(each), clip * deviation_of(each)) : top_of(each));
      }
      RoundRanks group(*codec, ranks, 1000, 1);
      const std::vector<float> mean = group.mean(gradients, 0);
      CHECK(group.exchanged()[0][0] == Approx(wanted).epsilon(1e-6));
      for (std::size_t i = 0; i < mean.size(); ++i) {
        const double signs = mean[i] * static_cast<double>(ranks) / wanted;
        REQUIRE(std::abs(signs - std::round(signs)) < 1e-5);
        REQUIRE(std::abs(signs) < static_cast<double>(ranks) + 0.5);
      }
    }
  }
}

TEST_CASE("terngrad_shared: the mean over steps comes to the mean of all ranks, with the variance of their rounding") {
  constexpr Elements kElements = 500;
  constexpr std::uint32_t kSteps = 400;
  const auto codec = rounds_from_source("terngrad_shared");
  for (const std::size_t ranks : {1, 2, 4}) {
    const Gradients gradients = gradients_of(ranks, kElements);
    double scale = 0;
    for (const std::vector<float>& each : gradients) scale = std::max(scale, top_of(each));
    RoundRanks group(*codec, ranks, kElements, 1);
    std::vector<double> given(kElements);
    for (std::uint32_t step = 0; step < kSteps; ++step) {
      // The ranks of this test draw the same numbers: their gradients are given in turns of one rank.
      for (std::size_t turn = 0; turn < ranks; ++turn) {
        Gradients one(ranks, std::vector<float>(kElements));
        one[turn] = gradients[turn];
        one[(turn + 1) % ranks][0] = static_cast<float>(scale);
        const std::vector<float> mean = group.mean(one, step * 4 + static_cast<std::uint32_t>(turn));
        for (Elements i = 1; i < kElements; ++i) given[i] += static_cast<double>(mean[i]) / kSteps;
      }
    }
    double error = 0, wanted = 0;
    for (Elements i = 1; i < kElements; ++i) {
      double mean = 0;
      for (const std::vector<float>& each : gradients) {
        const double x = each[i], count = static_cast<double>(ranks);
        mean += x / count;
        wanted += (std::abs(x) * scale - x * x) / (count * count * kSteps);
      }
      error += (given[i] - mean) * (given[i] - mean);
    }
    INFO(ranks << " ranks");
    CHECK(error / wanted == Approx(1).margin(0.35));
  }
}

TEST_CASE("terngrad_shared: one magnitude is exact, zeros stay zeros, and what is not finite makes NaN") {
  const auto codec = rounds_from_source("terngrad_shared");
  RoundRanks group(*codec, 3, 4, 1);
  CHECK(group.mean({{2, -2, 2, 0}, {2, -2, -2, 0}, {2, -2, 2, 2}}, 0) ==
        std::vector<float>{2, -2, 1.0f / 3 * 2, 1.0f / 3 * 2});
  CHECK(group.mean(Gradients(3, std::vector<float>(4)), 1) == std::vector<float>(4));
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Gradients gradients = gradients_of(3, 4);
    gradients[1][2] = bad;
    const std::vector<float> mean = group.mean(gradients, 2);
    CHECK(std::all_of(mean.begin(), mean.end(), [](float x) { return std::isnan(x); }));
    CHECK(std::isnan(group.exchanged()[0][0]));
  }
}

}  // namespace casync::compll
