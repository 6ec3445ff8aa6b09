// SPDX-License-Identifier: Apache-2.0
//
// mstopk sends nearly the largest elements: as many as wanted, and hardly less of the gradient than topk.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "tests/compll/codecs/promises.h"
#include "tests/compll/codecs/sparse.h"
#include "tests/compll/support/inputs.h"

namespace casync::compll {
namespace {

/// The end of the search: `sure` elements have magnitudes of at least `high`, fewer than wanted, and at least as many
/// as wanted have `low`, or it is zero.
struct Found {
  std::size_t sure = 0;
  double high = 0, low = 0;
};

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(std::fabs(x)); }

Found searched(const std::vector<float>& x, Elements wanted, int steps) {
  std::uint32_t low = 0, high = 0x80000000;
  const auto reaching = [&](std::uint32_t at) {
    return static_cast<std::size_t>(
        std::count_if(x.begin(), x.end(), [&](float value) { return bits_of(value) >= at; }));
  };
  for (int step = 0; step < steps; ++step) {
    const std::uint32_t middle = low + (high - low) / 2;
    (reaching(middle) < wanted ? high : low) = middle;
  }
  std::uint32_t top = 0;  // bits of the largest magnitude
  for (const float value : x) top = std::max(top, bits_of(value));
  return {reaching(high), std::bit_cast<float>(std::min(high, top)), std::bit_cast<float>(low)};
}

std::vector<std::uint32_t> sent(const Written& written, const std::vector<float>& x, std::uint32_t step = 0) {
  return integers_in(written, encode(*written.codec, x, {}, {1, 2, step, 0}), "place", x.size());
}

double lost(const Codec& codec, const std::vector<float>& x) { return relative_error(x, round_trip(codec, x)); }

}  // namespace

TEST_CASE("mstopk: as many elements are sent as are wanted, unless fewer are not zero; none twice, none that is zero") {
  for (const double ratio : {0.000001, 0.01, 0.3, 0.6, 1.0}) {
    for (const double steps : {1, 10, 31}) {
      const Written written = from_source("mstopk", {{"ratio", ratio}, {"steps", steps}});
      for (const Elements n : {1, 2, 3, 7, 31, 33, 129, 1000}) {
        for (const Input& input : inputs(n)) {
          if (!input.finite) continue;
          INFO("ratio " << ratio << ", steps " << steps << ", n " << n << ", " << input.name);
          const std::vector<std::uint32_t> places = sent(written, input.values);
          const auto nonzero = static_cast<Elements>(
              std::count_if(input.values.begin(), input.values.end(), [](float value) { return value != 0; }));
          const std::size_t count = count_of(places);
          CHECK(count == std::min(share_of(ratio, n), nonzero));
          CHECK(std::set<std::uint32_t>(places.begin(), places.begin() + static_cast<long>(count)).size() == count);
          bool inside = true;
          for (std::size_t i = 0; i < count; ++i) inside &= places[i] < n && input.values[places[i]] != 0;
          CHECK(inside);
        }
      }
    }
  }
}

TEST_CASE("mstopk: its loss beyond topk is bounded by the magnitudes between which its search ended") {
  const Elements n = 1000;
  for (const double ratio : {0.001, 0.01, 0.1, 0.3, 0.6, 0.9}) {
    const auto best = from_source("topk", {{"ratio", ratio}});
    for (const int steps : {1, 5, 10, 20, 31}) {
      const Written written = from_source("mstopk", {{"ratio", ratio}, {"steps", steps}});
      for (const std::vector<float>& x : {gaussian(n, 1), laplace(n, 2), inputs(n)[12].values, inputs(n)[6].values}) {
        INFO("ratio " << ratio << ", " << steps << " steps");
        const double norm = norm_squared(x), of_best = lost(*best.codec, x) * norm;
        const Found found = searched(x, share_of(ratio, n), steps);
        const auto filled = static_cast<double>(share_of(ratio, n) - found.sure);
        const double slack = filled * (found.high * found.high - found.low * found.low);
        CHECK(lost(*written.codec, x) * norm <= (of_best + slack) * (1 + 1e-6));
        if (steps == 31) CHECK(lost(*written.codec, x) * norm == Approx(of_best));
      }
    }
  }
}

TEST_CASE("mstopk: its twelve steps lose at most a hundredth more than topk, heavy tails and large shares included") {
  const Elements n = 1 << 14;
  std::vector<float> heavy = gaussian(n, 3);
  const std::vector<float> spread = gaussian(n, 4);
  for (Elements i = 0; i < n; ++i) heavy[i] *= std::exp(2 * spread[i]);
  for (const double ratio : {0.001, 0.01, 0.3, 0.6}) {
    for (const std::vector<float>& x : {gaussian(n, 1), laplace(n, 2), heavy}) {
      INFO("ratio " << ratio);
      CHECK(lost(*from_source("mstopk", {{"ratio", ratio}}).codec, x) <=
            1.01 * lost(*from_source("topk", {{"ratio", ratio}}).codec, x));
    }
  }
}

TEST_CASE("mstopk: if too many elements have the maximum, so many are sent, each time others") {
  const Elements n = 200, wanted = 20;
  std::vector<float> x(n, 1.0f);
  for (Elements i = 0; i < n; i += 2) x[i] = -3;
  const Written written = from_source("mstopk", {{"ratio", 0.1}});
  std::set<std::uint32_t> seen;
  for (std::uint32_t step = 0; step < 200; ++step) {
    const std::vector<std::uint32_t> places = sent(written, x, step);
    CHECK(count_of(places) == wanted);
    seen.insert(places.begin(), places.end());
  }
  std::set<std::uint32_t> maxima;
  for (std::uint32_t i = 0; i < n; i += 2) maxima.insert(i);
  CHECK(seen == maxima);
  const std::string first_come = changed(source_of("mstopk"), "max) % gradient.size", "max) % 1");
  const Written wrong = from_text("mstopk", first_come, {{"ratio", 0.1}});
  CHECK(sent(wrong, x, 0) == sent(wrong, x, 1));
}

TEST_CASE("mstopk: the same step sends the same, and scaling by a power of two changes hardly what is lost") {
  const std::vector<float> x = gaussian(3000, 6);
  const Written written = from_source("mstopk");
  CHECK(sent(written, x, 5) == sent(written, x, 5));
  const double once = lost(*written.codec, x);
  for (const int power : {-60, -7, 1, 60}) {
    CHECK(lost(*written.codec, scaled(x, std::ldexp(1.0f, power))) == Approx(once).epsilon(0.01));
  }
}

}  // namespace casync::compll
