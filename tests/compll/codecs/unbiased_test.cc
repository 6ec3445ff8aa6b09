// SPDX-License-Identifier: Apache-2.0
//
// Codecs are right on average, by statistics of fixed seeds with the exact variance of each element; limits: 6 standard
// deviations and more.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "tests/compll/codecs/grids.h"
#include "tests/compll/codecs/promises.h"
#include "tests/compll/support/inputs.h"

namespace casync::compll {
namespace {

constexpr int kTrials = 256;
constexpr double kDeviations = 6;

/// Statistics of many encodings of one input, each with random numbers of its own.
struct Trials {
  std::vector<double> mean;
  double mean_error = 0, error_of_mean_error = 0;  ///< mean of ||Q(x) - x||^2, and its error
  std::size_t off_grid = 0;
};

Trials tried(const Codec& codec, std::span<const float> x, std::span<const Cell> cells) {
  Trials trials;
  trials.mean.assign(x.size(), 0);
  double sum = 0, squares = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    EncodeContext context;
    context.seed = 7;
    context.step = static_cast<std::uint32_t>(trial);
    const std::vector<float> decoded = decode(codec, encode(codec, x, {}, context), x.size());
    double error = 0;
    for (Elements i = 0; i < x.size(); ++i) {
      const double q = decoded[i], slack = 1e-5 * (std::fabs(cells[i].low) + std::fabs(cells[i].high));
      trials.mean[i] += q / kTrials;
      trials.off_grid += !(std::fabs(q - cells[i].low) <= slack || std::fabs(q - cells[i].high) <= slack);
      error += (q - x[i]) * (q - x[i]);
    }
    sum += error;
    squares += error * error;
  }
  trials.mean_error = sum / kTrials;
  const double variance = std::max(0.0, squares / kTrials - trials.mean_error * trials.mean_error);
  trials.error_of_mean_error = std::sqrt(variance / kTrials);
  return trials;
}

/// Standard deviations by which the means are off: of the worst element; of <Q, x>, where all add up; and of the
/// mean square of all elements' deviations, which is 1.
struct Bias {
  double worst = 0, along_x = 0, spread = 0;
};

Bias bias_of(const Trials& trials, std::span<const float> x, std::span<const Cell> cells) {
  Bias bias;
  double off = 0, variance_along_x = 0, squares = 0;
  int counted = 0;
  for (Elements i = 0; i < x.size(); ++i) {
    const double variance = cells[i].variance(x[i]) / kTrials, chance = cells[i].chance_of_high(x[i]);
    off += (trials.mean[i] - x[i]) * x[i];
    variance_along_x += variance * x[i] * x[i];
    if (chance < 0.05 || chance > 0.95) continue;  // too rare among so few trials to be near a normal distribution
    const double z = (trials.mean[i] - x[i]) / std::sqrt(variance);
    bias.worst = larger_error(bias.worst, std::fabs(z));
    squares += z * z;
    ++counted;
  }
  bias.along_x = std::fabs(off) / std::sqrt(variance_along_x);
  bias.spread = std::fabs(squares / counted - 1) / std::sqrt(2.2 / counted);
  return bias;
}

std::string title(const Rounding& rounding) {
  std::string text = rounding.name;
  for (const auto& [name, value] : rounding.parameters) text += " " + name + " " + std::to_string(value);
  return text;
}

}  // namespace

TEST_CASE("codecs: there is a formula for each codec that is declared right on average") {
  std::set<std::string> known;
  for (const Rounding& rounding : roundings()) known.insert(rounding.name);
  for (const std::string& name : written_names()) {
    INFO(name);
    if (from_source(name).program->declares.unbiased) CHECK(known.count(name) == 1);
  }
}

TEST_CASE(
    "codecs: an unbiased one is right on average for each element and along the gradient, with the variance of "
    "theory") {
  for (const Rounding& rounding : roundings()) {
    const Written written = from_source(rounding.name, rounding.parameters);
    REQUIRE(written.program->declares.unbiased);
    for (const std::vector<float>& x : {gaussian(2000, 4), laplace(1000, 5)}) {
      INFO(title(rounding) << ", " << x.size() << " elements");
      const std::vector<Cell> cells = rounding.cells(x);
      double variance = 0;
      for (Elements i = 0; i < x.size(); ++i) variance += cells[i].variance(x[i]);
      const Trials trials = tried(*written.codec, x, cells);
      const Bias bias = bias_of(trials, x, cells);
      CHECK(trials.off_grid == 0);
      CHECK(bias.worst < 6.5);
      CHECK(bias.along_x < kDeviations);
      CHECK(bias.spread < kDeviations);
      CHECK(std::fabs(trials.mean_error - variance) <= kDeviations * trials.error_of_mean_error + 1e-6 * variance);
      CHECK(variance <= rounding.bound(x) * (1 + 1e-6));
    }
  }
}

TEST_CASE("codecs: rounding that favours one side by a twentieth, and rounding to nearest, would be noticed") {
  const std::vector<float> x = gaussian(1000, 4);
  for (const Rounding& rounding : roundings()) {
    const std::string source = whole_source_of(rounding.name);
    const bool by_bits = source.find("random<uint>()") != source.npos;
    const bool of_24 = source.find("random<uint>() >> 8") != source.npos;
    const bool of_23 = source.find("random<uint>() >> 9") != source.npos;
    const std::string bits = of_24 ? "random<uint>() >> 8" : of_23 ? "random<uint>() >> 9" : "random<uint>()";
    const std::string drawn = by_bits ? bits : "random<float>(0, 1)";
    const std::string favoured = by_bits ? "(" + bits + ") / 20 * 19" : "0.95 * random<float>(0, 1)";
    const std::string nearest = !by_bits ? "0.5" : of_24 ? "0x7fffff" : of_23 ? "0x3fffff" : "0x7fffffff";
    for (const std::string& instead : {favoured, nearest}) {
      INFO(title(rounding) << ", " << instead);
      const Written wrong = from_text(rounding.name, changed(source, drawn, instead), rounding.parameters);
      const std::vector<Cell> cells = rounding.cells(x);
      const Bias bias = bias_of(tried(*wrong.codec, x, cells), x, cells);
      CHECK(std::max(bias.along_x, bias.spread) > kDeviations);
    }
  }
}

TEST_CASE("codecs: the same step draws the same numbers, another step, seed or gradient draws others") {
  std::vector<float> x = gaussian(129, 1);
  for (float& value : x) value = std::clamp(value, -2.0f, 2.0f);
  std::fill(x.begin() + 64, x.end(), 2.5f);  // so that some of many have to be chosen
  for (const std::string& name : written_names()) {
    if (name == "laq") continue;  // its first payload does not depend on what it draws: shifts_test.cc
    const Written written = from_source(name);
    const auto payload = [&](const EncodeContext& context) { return encode(*written.codec, x, {}, context).payload; };
    const auto first = payload({1, 2, 3, 0});
    INFO(name);
    CHECK(first == payload({1, 2, 3, 0}));
    for (const EncodeContext& other :
         {EncodeContext{8, 2, 3, 0}, EncodeContext{1, 9, 3, 0}, EncodeContext{1, 2, 9, 0}}) {
      CHECK((first == payload(other)) == is_deterministic(written));
    }
  }
}

}  // namespace casync::compll
