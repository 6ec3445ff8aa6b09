// SPDX-License-Identifier: Apache-2.0
//
// Sketched-SGD with its second round, as interpreted: the sums of a sketch element by element, and results compared
// with doubles.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <map>

#include "tests/compll/support/inputs.h"
#include "tests/compll/support/programs.h"
#include "tests/compll/support/round_ranks.h"

namespace casync::compll {
namespace {

using Gradients = std::vector<std::vector<float>>;

std::unique_ptr<RoundsCodec> sketched_topk(const Parameters& parameters) {
  return rounds_from_source("sketched_topk", parameters);
}

/// Gaussian noise, and in each of `heavy` places, which all ranks share, an element of the same size.
Gradients with_heavy(std::size_t ranks, Elements n, const std::map<Elements, float>& heavy, float noise) {
  Gradients all;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    all.push_back(gaussian(n, 7 + static_cast<std::uint32_t>(rank)));
    for (float& x : all.back()) x *= noise;
    for (const auto& [place, value] : heavy) all.back()[place] = value;
  }
  return all;
}

std::map<Elements, float> far_apart(Elements n, Elements count) {
  std::map<Elements, float> heavy;
  for (Elements k = 0; k < count; ++k) heavy[(k * 7919 + 13) % n] = (k % 2 == 0 ? 1.0f : -1.0f) * float(10 + k);
  return heavy;
}

}  // namespace

TEST_CASE("sketched_topk: its declaration and its exchanges") {
  const auto codec = sketched_topk({{"ratio", 0.01}, {"candidates", 3}, {"rows", 5}, {"block", 64}});
  CHECK(codec->info().exchanges == std::vector<ExchangeKind>{ExchangeKind::kSum, ExchangeKind::kSum});
  CHECK_FALSE(codec->info().of_matrices);
  // 156 sums of each row, the 16 elements behind the last line, and 3 candidates for each of 100 elements.
  CHECK(codec->shape(10'000, 1).exchanged == std::vector<Elements>{5 * 156 + 16, 300});
  CHECK(codec->shape(100, 100).states == 10'000);
}

TEST_CASE("sketched_topk: a row has each element once, and two elements of a long vector share no two sums") {
  for (const auto& [rows, block, n] : {std::tuple(3, 4, 303), std::tuple(5, 8, 261), std::tuple(3, 8, 271)}) {
    const auto codec = sketched_topk({{"rows", rows}, {"block", block}, {"ratio", 0.01}});
    const int width = n / block, sums = rows * width;
    std::map<std::vector<int>, int> pairs;  // two sums, and an element that has both
    for (int i = 0; i < n; ++i) {
      INFO(rows << " rows of blocks of " << block << ", element " << i << " of " << n);
      RoundRanks fresh(*codec, 1, static_cast<Elements>(n), 1);
      std::vector<float> unit(static_cast<std::size_t>(n));
      unit[static_cast<std::size_t>(i)] = 1;
      const std::vector<float> result = fresh.mean({unit}, 3);
      CHECK((result == unit));
      const std::vector<float>& sketch = fresh.exchanged()[0];
      std::vector<int> places;
      for (int at = 0; at < int(sketch.size()); ++at) {
        if (sketch[static_cast<std::size_t>(at)] == 0) continue;
        REQUIRE(std::abs(sketch[static_cast<std::size_t>(at)]) == 1);
        places.push_back(at);
      }
      if (i >= width * block) {
        CHECK(places == std::vector<int>{sums + i - width * block});
        continue;
      }
      REQUIRE(int(places.size()) == rows);
      for (int row = 0; row < rows; ++row) CHECK(places[static_cast<std::size_t>(row)] / width == row);
      for (std::size_t a = 0; a < places.size(); ++a) {
        for (std::size_t b = a + 1; b < places.size(); ++b) CHECK(++pairs[{places[a], places[b]}] == 1);
      }
    }
  }
}

TEST_CASE("sketched_topk: signs are half of each kind in a row, and other ones in other rows and steps") {
  constexpr Elements kElements = 1024;
  const auto codec = sketched_topk({{"rows", 3}, {"block", 4}});
  const auto signs_in = [&](std::uint32_t step) {
    std::vector<int> signs;
    for (Elements i = 0; i < kElements; i += 4) {
      RoundRanks one(*codec, 1, kElements, 1);
      std::vector<float> unit(kElements);
      unit[i] = 1;
      static_cast<void>(one.mean({unit}, step));
      for (const float sum : one.exchanged()[0]) {
        if (sum != 0) signs.push_back(sum > 0 ? 1 : -1);
      }
    }
    return signs;
  };
  const std::vector<int> first = signs_in(0), second = signs_in(1);
  REQUIRE(first.size() == 3 * kElements / 4);
  REQUIRE(second.size() == first.size());
  int sum = 0, alike = 0, in_rows = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    sum += first[i];
    alike += first[i] * second[i];
    if (i % 3 != 0) in_rows += first[i] * first[i - 1];
  }
  const double deviation = std::sqrt(double(first.size()));
  CHECK(std::abs(sum) < 4 * deviation);
  CHECK(std::abs(alike) < 4 * deviation);
  CHECK(std::abs(in_rows) < 4 * deviation);
}

TEST_CASE("sketched_topk: large elements among small ones arrive with the mean's values, and nothing else does") {
  constexpr Elements kElements = 40'000;
  // An element that shares sums of most rows with large ones seems to be large: the more so, the fewer rows there are.
  for (const auto& [rows, count] : {std::pair(3, 12), std::pair(5, 40)}) {
    const double ratio = double(count) / kElements;
    const auto codec = sketched_topk({{"rows", rows}, {"block", 64}, {"ratio", ratio}});
    const std::map<Elements, float> heavy = far_apart(kElements, static_cast<Elements>(count));
    for (const std::size_t ranks : {1, 2, 4}) {
      INFO(rows << " rows, " << ranks << " ranks");
      const Gradients gradients = with_heavy(ranks, kElements, heavy, 0.2f);
      RoundRanks group(*codec, ranks, kElements, 1);
      const std::vector<float> mean = group.mean(gradients, 0);
      std::size_t found = 0, others = 0;
      for (Elements i = 0; i < kElements; ++i) {
        if (mean[i] == 0) continue;
        const auto place = heavy.find(i);
        place == heavy.end() ? ++others : ++found;
        double wanted = 0;
        for (const std::vector<float>& each : gradients) wanted += double(each[i]) / double(ranks);
        CHECK(mean[i] == Approx(wanted).epsilon(1e-6));
      }
      CHECK(found == heavy.size());  // at random, so many parts in 1000
      CHECK(others == 0);
    }
  }
}

TEST_CASE("sketched_topk: elements that results lack are in the ranks' residuals, and come later") {
  constexpr Elements kElements = 5000;
  constexpr std::size_t kRanks = 3;
  const auto codec = sketched_topk({{"block", 16}, {"ratio", 0.02}});
  RoundRanks group(*codec, kRanks, kElements, 1);
  std::vector<double> given(kElements), sent(kElements);
  for (std::uint32_t step = 0; step < 60; ++step) {
    const Gradients gradients = with_heavy(kRanks, kElements, {}, 1);  // the same in each step
    const std::vector<float> mean = group.mean(gradients, step);
    CHECK(std::count_if(mean.begin(), mean.end(), [](float x) { return x != 0; }) <= 100);
    for (Elements i = 0; i < kElements; ++i) {
      given[i] += double(mean[i]);
      for (const std::vector<float>& each : gradients) sent[i] += double(each[i]) / kRanks;
    }
  }
  double squares = 0, rest = 0;
  for (Elements i = 0; i < kElements; ++i) {
    double left = 0;
    for (std::size_t rank = 0; rank < kRanks; ++rank) left += double(group.states(rank)[i]) / kRanks;
    CHECK(given[i] + left == Approx(sent[i]).margin(1e-3));
    squares += sent[i] * sent[i];
    rest += left * left;
  }
  CHECK(rest < 0.5 * squares);  // 60 steps send 1.2 elements of each, if all alike
}

TEST_CASE("sketched_topk: zeros stay zeros, and what is not finite makes NaN on all ranks") {
  const auto codec = sketched_topk({{"block", 16}});
  RoundRanks group(*codec, 3, 1000, 1);
  CHECK(group.mean(Gradients(3, std::vector<float>(1000)), 0) == std::vector<float>(1000));
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const Elements place : {3, 500, 995}) {  // the last one behind the last line
      Gradients gradients = with_heavy(3, 1000, {}, 1);
      gradients[1][place] = bad;
      RoundRanks fresh(*codec, 3, 1000, 1);
      const std::vector<float> mean = fresh.mean(gradients, 1);
      CHECK(std::all_of(mean.begin(), mean.end(), [](float x) { return std::isnan(x); }));
    }
  }
}

}  // namespace casync::compll
