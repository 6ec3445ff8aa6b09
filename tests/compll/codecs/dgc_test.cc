// SPDX-License-Identifier: Apache-2.0
//
// dgc: momentum is gathered, not sent at once; what is sent leaves both states.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/compll/codecs/promises.h"
#include "tests/compll/codecs/ranks.h"
#include "tests/compll/codecs/sparse.h"
#include "tests/compll/support/inputs.h"

namespace casync::compll {
namespace {

constexpr Elements kElements = 300;

std::vector<float> half(const std::vector<float>& states, std::size_t index) {
  const auto begin = states.begin() + static_cast<long>(index * kElements);
  return {begin, begin + static_cast<long>(kElements)};
}

std::vector<float> sum_of(const std::vector<float>& a, const std::vector<float>& b, float factor = 1) {
  std::vector<float> sum(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) sum[i] = factor * a[i] + b[i];
  return sum;
}

Coded merged(const Codec& codec, const std::vector<float>& sum, const std::vector<float>& states) {
  Coded coded{std::vector<std::byte>(codec.encoded_bound(sum.size())), std::vector<float>(states.size()), true};
  const Residual residual{states.data(), coded.residual.data(), sum.size()};
  coded.finite = codec.encode_sum(sum.data(), 1, sum.size(), residual, {}, coded.payload.data()).finite;
  return coded;
}

}  // namespace

TEST_CASE("dgc: a step sends the largest of what was gathered, and both states are zero exactly where it did") {
  const Written written = from_source("dgc", {{"ratio", 0.05}});
  REQUIRE(written.codec->info().states == 2);
  std::vector<float> states(2 * kElements, 0.0f);
  for (std::uint32_t step = 0; step < 40; ++step) {
    const std::vector<float> gradient = laplace(kElements, 10 + step);
    const Coded coded = encode(*written.codec, gradient, states);
    const std::vector<float> moved = sum_of(half(states, 0), gradient, 0.9f);
    const std::vector<float> all = sum_of(half(states, 1), moved);
    const std::vector<std::uint32_t> places = places_of_largest(magnitudes(all), share_of(0.05, kElements));
    CHECK(integers_in(written, coded, "place", kElements) == places);
    const std::vector<float> sent = only_at(places, all);
    CHECK(same_bytes(decode(*written.codec, coded, kElements), sent));
    for (Elements i = 0; i < kElements; ++i) {
      REQUIRE(half(coded.residual, 0)[i] == (sent[i] != 0 ? 0 : moved[i]));
      REQUIRE(half(coded.residual, 1)[i] == (sent[i] != 0 ? 0 : all[i]));
      REQUIRE(half(coded.residual, 1)[i] + sent[i] == all[i]);
    }
    states = coded.residual;
  }
}

TEST_CASE("dgc: merging adds what an owner had left and no momentum, and leaves the velocity as it was") {
  const Written written = from_source("dgc", {{"ratio", 0.05}});
  std::vector<float> states = gaussian(2 * kElements, 5);
  const std::vector<float> sum = laplace(kElements, 6), all = sum_of(half(states, 1), sum);
  const Coded coded = merged(*written.codec, sum, states);
  const std::vector<float> sent = decode(*written.codec, coded, kElements);
  CHECK(same_bytes(sent, only_at(places_of_largest(magnitudes(all), share_of(0.05, kElements)), all)));
  CHECK(same_bytes(half(coded.residual, 0), half(states, 0)));
  CHECK(same_bytes(sum_of(half(coded.residual, 1), sent), all));
  CHECK_FALSE(decode(*written.codec, encode(*written.codec, sum, states), kElements) == sent);
}

TEST_CASE("dgc: where all is sent nothing is kept, so the result is the mean gradient: momentum is masked") {
  const Written written = from_source("dgc", {{"ratio", 1}});
  Ranks ranks(*written.codec, 3, kElements);
  for (std::uint32_t step = 0; step < 5; ++step) {
    std::vector<std::vector<float>> gradients;
    std::vector<float> mean(kElements, 0.0f);
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      gradients.push_back(gaussian(kElements, 3 * step + rank));
      mean = rank == 0 ? gradients.back() : sum_of(mean, gradients.back());
    }
    mean = scaled(mean, 1.0f / 3);
    CHECK(same_bytes(ranks.step(gradients, step).front(), mean));
    CHECK(norm_squared(ranks.encoder(0, 0)) == 0);
  }
}

TEST_CASE("dgc: without masking, and where all is sent, the result is that of momentum on the mean, bit for bit") {
  const std::string unmasked = changed(source_of("dgc"), "velocity = scatter(place, 0, moved);", "velocity = moved;");
  const Written written = from_text("dgc", unmasked, {{"ratio", 1}});
  Ranks ranks(*written.codec, 2, kElements);
  std::vector<float> velocity(kElements, 0.0f);
  for (std::uint32_t step = 0; step < 20; ++step) {
    const std::vector<float> gradient = gaussian(kElements, step);
    velocity = sum_of(velocity, gradient, 0.9f);
    CHECK(same_bytes(ranks.step({gradient, gradient}, step).front(), velocity));
  }
}

TEST_CASE("dgc: gradients whose norm exceeds the limit are scaled down to it, others are not touched") {
  const std::vector<float> x = gaussian(kElements, 8);
  const auto norm = static_cast<float>(std::sqrt(norm_squared(x)));
  const auto given = [&](double clip) {
    return round_trip(*from_source("dgc", {{"ratio", 1}, {"clip", clip}}).codec, x);
  };
  CHECK(same_bytes(given(0), x));
  CHECK(same_bytes(given(norm * 1.001), x));
  for (const float clip : {norm / 2, norm / 1000}) {
    const std::vector<float> clipped = given(clip);
    CHECK(std::sqrt(norm_squared(clipped)) == Approx(clip).epsilon(1e-5));
    CHECK(relative_error(scaled(x, clip / norm), clipped) < 1e-12);
  }
  // The norm of these elements exceeds float's range.
  const std::vector<float> huge = scaled(x, 5e37f);
  REQUIRE(std::all_of(huge.begin(), huge.end(), [](float value) { return std::isfinite(value); }));
  const auto of_huge = from_source("dgc", {{"ratio", 1}, {"clip", 1e30}});
  CHECK(std::sqrt(norm_squared(round_trip(*of_huge.codec, huge))) == Approx(1e30).epsilon(1e-5));
  const std::vector<float> zeros(kElements, 0.0f);
  CHECK(same_bytes(round_trip(*from_source("dgc", {{"ratio", 1}, {"clip", 1e-10}}).codec, zeros), zeros));
}

TEST_CASE("dgc: an element that waits is sent with all that momentum would have made of it meanwhile") {
  // The first of two elements is larger in every step, until the second has gathered more.
  const Written written = from_source("dgc", {{"ratio", 0.5}, {"momentum", 0.5}});
  std::vector<float> states(4, 0.0f);
  std::vector<std::vector<float>> sent;
  for (int step = 0; step < 3; ++step) {
    const Coded coded = encode(*written.codec, std::vector<float>{4, 2.5f}, states);
    sent.push_back(decode(*written.codec, coded, 2));
    states = coded.residual;
  }
  CHECK(sent[0] == std::vector<float>{4, 0});
  CHECK(sent[1] == std::vector<float>{0, 2.5f + 1.25f + 2.5f});
  CHECK(sent[2] == std::vector<float>{4 + 2 + 4, 0});
}

}  // namespace casync::compll
