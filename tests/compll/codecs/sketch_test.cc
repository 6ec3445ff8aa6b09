// SPDX-License-Identifier: Apache-2.0
//
// sketch: sums that add up over ranks. Statistics are of fixed seeds, their limits at 6 standard deviations.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "tests/compll/codecs/promises.h"
#include "tests/compll/codecs/sparse.h"
#include "tests/compll/support/inputs.h"

namespace casync::compll {
namespace {

constexpr EncodeContext kContext{1, 2, 3, 0};

/// The sums in a payload.
std::vector<float> sums_in(const Written& written, const Coded& coded, Elements n) {
  const SectionPlace place = section_of(written, "sums", n);
  std::vector<float> sums(place.count);
  std::memcpy(sums.data(), coded.payload.data() + place.begin, place.count * sizeof(float));
  return sums;
}

std::vector<float> sum_of(std::vector<float> x, const std::vector<float>& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  return x;
}

/// Whole numbers, whose sums are exact in any order.
std::vector<float> whole(std::vector<float> x) {
  for (float& value : x) value = std::round(100 * value);
  return x;
}

}  // namespace

TEST_CASE("sketch: the sketch of a sum is the sum of the sketches, with the signs that all ranks draw") {
  for (const double block : {2.0, 32.0, 256.0}) {
    const Written written = from_source("sketch", {{"block", block}});
    for (const Elements n : {1u, 31u, 32u, 1000u, 4097u}) {
      INFO("block " << block << ", n " << n);
      const std::vector<float> x = whole(gaussian(n, 1)), y = whole(gaussian(n, 2));
      const auto sums_of = [&](const std::vector<float>& in) {
        return sums_in(written, encode(*written.codec, in, {}, kContext), n);
      };
      CHECK(same_bytes(sums_of(sum_of(x, y)), sum_of(sums_of(x), sums_of(y))));
    }
  }
}

TEST_CASE(
    "sketch: a sum is that of the elements of its block with the signs that decode shows, and decodes to equal parts") {
  const Elements n = 300, block = 64;
  const Written written = from_source("sketch", {{"block", static_cast<double>(block)}});
  const std::vector<float> x = whole(laplace(n, 5));
  const Coded coded = encode(*written.codec, x, {}, kContext);
  const std::vector<float> sums = sums_in(written, coded, n), decoded = decode(*written.codec, coded, n);
  int negative = 0;
  for (Elements begin = 0; begin < n; begin += block) {
    const Elements end = std::min(begin + block, n);
    const float sum = sums[begin / block], part = std::fabs(sum) / static_cast<float>(end - begin);
    REQUIRE(sum != 0);
    double meant = 0;
    for (Elements i = begin; i < end; ++i) {
      REQUIRE(std::fabs(decoded[i]) == part);
      const bool turned = (decoded[i] < 0) != (sum < 0);
      meant += turned ? -x[i] : x[i];
      negative += turned;
    }
    CHECK(sum == static_cast<float>(meant));
  }
  CHECK(std::abs(negative - 150) < 6 * std::sqrt(300 * 0.25));
}

TEST_CASE("sketch: merging loses nothing, so the owner has no residual, but for the rounding of a short last block") {
  for (const Elements n : {1000u, 1024u, 1003u}) {
    INFO("n " << n);
    const Written written = from_source("sketch");
    const Coded a = encode(*written.codec, gaussian(n, 1), {}, kContext),
                b = encode(*written.codec, gaussian(n, 2), {}, kContext);
    const std::vector<Contribution> both = {{a.view(), nullptr}, {b.view(), nullptr}};
    Coded merged{std::vector<std::byte>(a.payload.size()), std::vector<float>(n, 1.0f), true};
    const auto merge = [&](const EncodeContext& context) {
      written.codec->merge(both, n, 0.5f, *written.codec, {nullptr, merged.residual.data(), n}, context,
                           merged.payload.data());
    };
    merge(kContext);
    if (n == 1003) {  // the last block has 11 elements, by which nothing is divided exactly
      CHECK(norm_squared(merged.residual) < 1e-13);
      CHECK(norm_squared(std::span<const float>(merged.residual).first(992)) == 0);
      continue;
    }
    CHECK(norm_squared(merged.residual) == 0);
    const std::vector<float> sum = sum_of(decode(*written.codec, a, n), decode(*written.codec, b, n));
    CHECK(same_bytes(decode(*written.codec, merged, n), scaled(sum, 0.5f)));
    merge({1, 2, 4, 0});
    CHECK(norm_squared(merged.residual) > 0);  // by an owner that is a step ahead
  }
}

TEST_CASE("sketch: its loss is on average all but one part in a block") {
  const Elements n = 2048;
  const int draws = 400;
  for (const double block : {4.0, 32.0}) {
    const Written written = from_source("sketch", {{"block", block}});
    const std::vector<float> x = laplace(n, 8);
    double sum = 0, squares = 0;
    for (int draw = 0; draw < draws; ++draw) {
      const auto step = static_cast<std::uint32_t>(draw);
      const double lost = relative_error(x, decode(*written.codec, encode(*written.codec, x, {}, {9, 9, step, 0}), n));
      sum += lost / draws;
      squares += lost * lost / draws;
    }
    INFO("block " << block << ": " << sum);
    CHECK(std::fabs(sum - (1 - 1 / block)) < 6 * std::sqrt((squares - sum * sum) / draws));
  }
}

}  // namespace casync::compll
