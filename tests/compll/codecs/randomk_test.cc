// SPDX-License-Identifier: Apache-2.0
//
// randomk: which runs of elements are chosen. Statistics are of fixed seeds, their limits at 6 standard deviations.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "tests/compll/codecs/promises.h"
#include "tests/compll/codecs/ranks.h"
#include "tests/compll/codecs/sparse.h"
#include "tests/compll/support/inputs.h"

namespace casync::compll {
namespace {

std::vector<float> no_zeros(Elements n, float first) {
  std::vector<float> x(n);
  for (Elements i = 0; i < n; ++i) x[i] = first + static_cast<float>(i);
  return x;
}

/// Returns for each of n elements whether it arrives.
std::vector<bool> chosen(const Codec& codec, Elements n, const EncodeContext& context, float first = 1) {
  const std::vector<float> x = no_zeros(n, first), decoded = decode(codec, encode(codec, x, {}, context), n);
  std::vector<bool> arrived(n);
  for (Elements i = 0; i < n; ++i) {
    arrived[i] = decoded[i] != 0;
    CHECK((!arrived[i] || decoded[i] == x[i]));
  }
  return arrived;
}

/// Number of draws in which each of `runs` runs, and each pair of neighbours, is chosen.
struct Frequencies {
  std::vector<double> of_run, of_pair;
};

Frequencies counted(const Codec& codec, Elements runs, int draws, bool by_gradient) {
  Frequencies found{std::vector<double>(runs), std::vector<double>(runs - 1)};
  for (int draw = 0; draw < draws; ++draw) {
    const auto number = static_cast<std::uint32_t>(draw);
    const std::vector<bool> arrived =
        chosen(codec, runs, by_gradient ? EncodeContext{3, number, 0, 0} : EncodeContext{3, 0, number, 0});
    for (Elements i = 0; i < runs; ++i) found.of_run[i] += arrived[i];
    for (Elements i = 0; i + 1 < runs; ++i) found.of_pair[i] += arrived[i] && arrived[i + 1];
  }
  return found;
}

}  // namespace

TEST_CASE("randomk: whole runs are chosen, as many as wanted, none twice, the last one short where n makes it so") {
  for (const double ratio : {0.000001, 0.1, 0.5, 0.99, 1.0}) {
    for (const Elements run : {1, 3, 64, 65536}) {
      const Written written = from_source("randomk", {{"ratio", ratio}, {"run", static_cast<double>(run)}});
      for (const Elements n : {1, 2, 3, 7, 64, 65, 127, 129, 1000}) {
        for (std::uint32_t step = 0; step < 8; ++step) {
          INFO("ratio " << ratio << ", run " << run << ", n " << n << ", step " << step);
          const std::vector<bool> arrived = chosen(*written.codec, n, {5, 6, step, 0});
          const Elements runs = (n + run - 1) / run;
          Elements whole = 0;
          for (Elements begin = 0; begin < n; begin += run) {
            const auto first = arrived.begin() + static_cast<long>(begin);
            const auto count = std::count(first, first + static_cast<long>(std::min(run, n - begin)), true);
            CHECK((count == 0 || count == static_cast<long>(std::min(run, n - begin))));
            whole += count != 0;
          }
          CHECK(whole == share_of(ratio, runs));
        }
      }
    }
  }
}

TEST_CASE("randomk: all runs are the gradient itself, for one element, two, and primes, too") {
  for (const double run : {1, 7, 64}) {
    const Written written = from_source("randomk", {{"ratio", 1}, {"run", run}});
    for (const Elements n : {1, 2, 3, 5, 31, 61, 63, 64, 65, 67, 127, 257, 1009}) {
      INFO("run " << run << ", n " << n);
      CHECK(same_bytes(round_trip(*written.codec, laplace(n, 1)), laplace(n, 1)));
    }
  }
}

TEST_CASE("randomk: all ranks choose the same, whatever their gradients hold; steps, seeds and gradients do not") {
  const Elements n = 4000;
  const Written written = from_source("randomk", {{"ratio", 0.2}, {"run", 16}});
  const std::vector<bool> first = chosen(*written.codec, n, {1, 2, 3, 0});
  CHECK(chosen(*written.codec, n, {1, 2, 3, 0}, 1e6f) == first);
  for (const EncodeContext& other : {EncodeContext{1, 2, 4, 0}, EncodeContext{2, 2, 3, 0}, EncodeContext{1, 3, 3, 0},
                                     EncodeContext{2, 1, 3, 0}, EncodeContext{1, 2, 3, 4096}}) {
    CHECK(chosen(*written.codec, n, other) != first);
  }
}

TEST_CASE("randomk: merging what all ranks have chosen alike loses nothing") {
  const Elements n = 1000;
  const Written written = from_source("randomk", {{"ratio", 0.1}});
  const EncodeContext context{1, 2, 3, 0};
  const Coded a = encode(*written.codec, gaussian(n, 1), {}, context),
              b = encode(*written.codec, gaussian(n, 2), {}, context);
  const std::vector<Contribution> both = {{a.view(), nullptr}, {b.view(), nullptr}};
  Coded merged{std::vector<std::byte>(a.payload.size()), std::vector<float>(n, 1.0f), true};
  written.codec->merge(both, n, 0.5f, *written.codec, {nullptr, merged.residual.data(), n}, context,
                       merged.payload.data());
  CHECK(norm_squared(merged.residual) == 0);
  std::vector<float> mean = decode(*written.codec, a, n);
  written.codec->decode_add(b.view(), n, mean.data());
  CHECK(same_bytes(decode(*written.codec, merged, n), scaled(mean, 0.5f)));
  written.codec->merge(both, n, 0.5f, *written.codec, {nullptr, merged.residual.data(), n}, {1, 2, 4, 0},
                       merged.payload.data());
  CHECK(norm_squared(merged.residual) > 0);  // by an owner that is a step ahead
}

TEST_CASE("randomk: each run is chosen equally often, and neighbours where their stretches meet between them") {
  // Eight stretches of four runs and three of three, which begin anywhere.
  constexpr Elements kRuns = 41;
  constexpr std::array<double, 11> kStretches = {4, 4, 4, 4, 4, 4, 4, 4, 3, 3, 3};
  constexpr int kDraws = 2000;
  const Written written = from_source("randomk", {{"ratio", 0.25}, {"run", 1}});
  const auto deviations = [&](const Frequencies& found) {
    const double share = static_cast<double>(kStretches.size()) / kRuns, expected = kDraws * share;
    double chi = 0;
    for (const double count : found.of_run) chi += std::pow(count - expected, 2) / (expected * (1 - share));
    chi *= (kRuns - 1.0) / kRuns;
    const double freedom = kRuns - 1;
    return (chi - freedom) / std::sqrt(2 * freedom);
  };
  double both = 0;
  for (std::size_t i = 0; i < kStretches.size(); ++i) {
    both += 1 / (kStretches[i] * kStretches[(i + 1) % kStretches.size()]) / kRuns;
  }
  for (const bool by_gradient : {false, true}) {
    const Frequencies found = counted(*written.codec, kRuns, kDraws, by_gradient);
    CHECK(std::fabs(deviations(found)) < 6);
    for (const double count : found.of_pair) {
      CHECK(std::fabs(count - kDraws * both) < 6 * std::sqrt(kDraws * both * (1 - both)));
    }
  }
  const std::string always_there = changed(source_of("randomk"), "mixed(seed) % runs", "0");
  const Written favours = from_text("randomk", always_there, {{"ratio", 0.25}, {"run", 1}});
  CHECK(deviations(counted(*favours.codec, kRuns, kDraws, false)) > 6);
}

TEST_CASE("randomk: each of few runs, too, is chosen equally often") {
  constexpr int kDraws = 1000;
  for (const Elements runs : {2, 3, 5}) {
    for (const double ratio : {0.1, 0.5}) {
      INFO(runs << " runs, ratio " << ratio);
      const Written written = from_source("randomk", {{"ratio", ratio}, {"run", 1}});
      const double share = static_cast<double>(share_of(ratio, runs)) / static_cast<double>(runs);
      for (const double count : counted(*written.codec, runs, kDraws, false).of_run) {
        CHECK(std::fabs(count - kDraws * share) < 6 * std::sqrt(kDraws * share * (1 - share)));
      }
    }
  }
}

TEST_CASE("randomk: its loss is on average the share that is not sent") {
  const Elements n = 1024;
  const int draws = 600;
  const Written written = from_source("randomk", {{"ratio", 0.25}, {"run", 16}});
  const std::vector<float> x = laplace(n, 8);
  double sum = 0, squares = 0;
  for (int draw = 0; draw < draws; ++draw) {
    const auto step = static_cast<std::uint32_t>(draw);
    const double lost = relative_error(x, decode(*written.codec, encode(*written.codec, x, {}, {9, 9, step, 0}), n));
    sum += lost / draws;
    squares += lost * lost / draws;
  }
  CHECK(std::fabs(sum - 0.75) < 6 * std::sqrt((squares - sum * sum) / draws));
}

TEST_CASE("randomk: with feedback each element is sent again and again, with what it had gathered") {
  const Elements n = 640;
  const Written written = from_source("randomk", {{"ratio", 0.1}, {"run", 16}});
  const std::vector<float> gradient(n, 1.0f);
  std::vector<float> residual(n, 0.0f), given(n, 0.0f);
  std::set<Elements> seen;
  for (std::uint32_t step = 0; step < 200; ++step) {
    const Coded coded = encode(*written.codec, gradient, residual, {4, 5, step, 0});
    const std::vector<float> decoded = decode(*written.codec, coded, n);
    residual = coded.residual;
    for (Elements i = 0; i < n; ++i) {
      given[i] += decoded[i];
      if (decoded[i] != 0) seen.insert(i);
      REQUIRE(given[i] + residual[i] == static_cast<float>(step + 1));
    }
  }
  CHECK(seen.size() == n);
}

TEST_CASE("subsampling: its result is what randomk sends, as many times as there are runs for one that is sent") {
  for (const double ratio : {0.000001, 0.1, 0.5, 1.0}) {
    for (const Elements run : {1, 3, 64}) {
      const Parameters parameters = {{"ratio", ratio}, {"run", static_cast<double>(run)}};
      const Written scaled = from_source("subsampling", parameters), plain = from_source("randomk", parameters);
      for (const Elements n : {1, 2, 65, 1000}) {
        INFO("ratio " << ratio << ", run " << run << ", n " << n);
        const std::vector<float> x = laplace(n, 1);
        const Coded coded = encode(*scaled.codec, x, {}, {5, 6, 7, 0});
        std::vector<float> wanted = decode(*plain.codec, encode(*plain.codec, x, {}, {5, 6, 7, 0}), n);
        std::vector<float> given = decode(*scaled.codec, coded, n);
        CHECK(same_bytes(given, wanted));
        REQUIRE(scaled.codec->info().has_result);
        scaled.codec->result(given.data(), n, {}, {}, given.data());
        const Elements runs = (n + run - 1) / run;
        const auto times = static_cast<float>(static_cast<double>(runs) / static_cast<double>(share_of(ratio, runs)));
        for (float& value : wanted) value *= times;
        CHECK(same_bytes(given, wanted));
      }
    }
  }
}

TEST_CASE("subsampling: over ranks the mean of many results comes to the mean gradient, which randomk's does not") {
  constexpr Elements kElements = 640;
  constexpr int kSteps = 2000;
  const std::vector<std::vector<float>> gradients = {laplace(kElements, 1), laplace(kElements, 2),
                                                     laplace(kElements, 3)};
  const auto off = [&](const char* name) {
    const Written written = from_source(name, {{"ratio", 0.25}, {"run", 16}});
    Ranks ranks(*written.codec, gradients.size(), kElements);
    std::vector<double> made(kElements, 0);
    for (int step = 0; step < kSteps; ++step) {
      const std::vector<float> result = ranks.step(gradients, static_cast<std::uint32_t>(step)).front();
      for (Elements i = 0; i < kElements; ++i) made[i] += result[i] / kSteps;
      ranks.forget_encoders(), ranks.forget_owner();
    }
    double worst = 0;  // in standard deviations: an element is there, four times as large, in a quarter of the steps
    for (Elements i = 0; i < kElements; ++i) {
      const double mean = (static_cast<double>(gradients[0][i]) + gradients[1][i] + gradients[2][i]) / 3;
      worst = larger_error(worst, std::fabs(made[i] - mean) / (std::fabs(mean) * std::sqrt(3.0 / kSteps)));
    }
    return worst;
  };
  CHECK(off("subsampling") < 6);
  CHECK(off("randomk") > 15);
}

}  // namespace casync::compll
