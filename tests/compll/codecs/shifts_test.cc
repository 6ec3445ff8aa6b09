// SPDX-License-Identifier: Apache-2.0
//
// ecqsgd, diana and ef21: what they keep besides, or instead of, a residual.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/compll/codecs/promises.h"
#include "tests/compll/codecs/ranks.h"
#include "tests/compll/codecs/sparse.h"
#include "tests/compll/support/inputs.h"

namespace casync::compll {
namespace {

constexpr Elements kElements = 200;

using Gradients = std::vector<std::vector<float>>;

Gradients constant_gradients(std::size_t ranks) {
  Gradients gradients;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    gradients.push_back(laplace(kElements, static_cast<std::uint32_t>(rank + 1)));
  }
  return gradients;
}

Gradients with_noise(Gradients gradients, std::uint32_t step) {
  for (std::size_t rank = 0; rank < gradients.size(); ++rank) {
    const std::vector<float> noise = gaussian(kElements, 1000 + 16 * step + static_cast<std::uint32_t>(rank));
    for (Elements i = 0; i < kElements; ++i) gradients[rank][i] += noise[i];
  }
  return gradients;
}

std::vector<float> mean_of(const Gradients& all) {
  std::vector<float> mean(kElements, 0.0f);
  for (const std::vector<float>& one : all) {
    for (Elements i = 0; i < kElements; ++i) mean[i] += one[i] / static_cast<float>(all.size());
  }
  return mean;
}

/// The root of the mean square of the difference.
double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(static_cast<double>(a[i]) - b[i], 2);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

std::vector<float> mean_of_encoders(const Ranks& ranks, std::size_t count, std::size_t index) {
  Gradients all;
  for (std::size_t rank = 0; rank < count; ++rank) all.push_back(ranks.encoder(rank, index));
  return mean_of(all);
}

}  // namespace

TEST_CASE("ecqsgd: the codes are of the gradient and a part of what is left over, of which another part is kept") {
  for (const auto& [alpha, beta] : {std::pair<float, float>{0.2f, 0.9f}, {1, 1}, {0, 0.5f}, {0.5f, 0}}) {
    INFO("alpha " << alpha << ", beta " << beta);
    const Written written = from_source("ecqsgd", {{"alpha", alpha}, {"beta", beta}});
    const std::vector<float> gradient = laplace(kElements, 1), left = gaussian(kElements, 2);
    std::vector<float> p(kElements);
    for (Elements i = 0; i < kElements; ++i) p[i] = gradient[i] + alpha * left[i];
    const Coded coded = encode(*written.codec, gradient, left);
    CHECK(coded.payload == encode(*written.codec, p, std::vector<float>(kElements, 0.0f)).payload);
    const std::vector<float> q = decode(*written.codec, coded, kElements);
    for (Elements i = 0; i < kElements; ++i) REQUIRE(coded.residual[i] == beta * left[i] + (gradient[i] - q[i]));
    for (Elements begin = 0; begin < kElements; begin += 128) {  // q is near p, in steps of a seventh of the largest
      float top = 0;
      for (Elements i = begin; i < std::min<Elements>(begin + 128, kElements); ++i)
        top = std::max(top, std::fabs(p[i]));
      for (Elements i = begin; i < std::min<Elements>(begin + 128, kElements); ++i) {
        REQUIRE(std::fabs(p[i] - q[i]) <= top / 7 * 1.00001f);
      }
    }
  }
}

TEST_CASE("ecqsgd: with all of what is left over added and kept it is plain error feedback") {
  const Written written = from_source("ecqsgd", {{"alpha", 1}, {"beta", 1}});
  std::vector<float> left(kElements, 0.0f);
  std::vector<double> given(kElements, 0), sent(kElements, 0);
  for (std::uint32_t step = 0; step < 300; ++step) {
    const std::vector<float> gradient = laplace(kElements, step);
    const Coded coded = encode(*written.codec, gradient, left, {1, 2, step, 0});
    const std::vector<float> q = decode(*written.codec, coded, kElements);
    for (Elements i = 0; i < kElements; ++i) {
      given[i] += gradient[i];
      sent[i] += q[i];
      REQUIRE(coded.residual[i] == Approx(left[i] + gradient[i] - q[i]).margin(1e-4));
    }
    left = coded.residual;
  }
  for (Elements i = 0; i < kElements; ++i) REQUIRE(sent[i] + left[i] == Approx(given[i]).margin(1e-3));
}

TEST_CASE("diana: of a gradient that is as told before nothing is sent, and its shift stays") {
  const Written written = from_source("diana");
  const std::vector<float> x = laplace(kElements, 1);
  const Coded coded = encode(*written.codec, x, x);
  CHECK(norm_squared(decode(*written.codec, coded, kElements)) == 0);
  CHECK(same_bytes(coded.residual, x));
}

TEST_CASE("diana: a shift moves by alpha times what is decoded, and the result is the shift and what is decoded") {
  const Written written = from_source("diana", {{"alpha", 0.25}});
  const std::vector<float> x = laplace(kElements, 1), shift = gaussian(kElements, 2);
  const Coded coded = encode(*written.codec, x, shift);
  const std::vector<float> q = decode(*written.codec, coded, kElements);
  std::vector<float> result(kElements), after(kElements);
  written.codec->result(q.data(), kElements, {shift.data(), after.data(), kElements}, {}, result.data());
  for (Elements i = 0; i < kElements; ++i) {
    REQUIRE(coded.residual[i] == shift[i] + 0.25f * q[i]);
    REQUIRE(after[i] == coded.residual[i]);
    REQUIRE(result[i] == shift[i] + q[i]);
  }
}

TEST_CASE("diana: of constant gradients the shifts become the gradients, and the results their mean") {
  for (const std::size_t count : {1, 2, 4}) {
    INFO(count << " ranks");
    const Written written = from_source("diana");
    Ranks ranks(*written.codec, count, kElements);
    const Gradients gradients = constant_gradients(count);
    std::vector<float> result;
    for (std::uint32_t step = 0; step < 300; ++step) result = ranks.step(gradients, step).front();
    for (std::size_t rank = 0; rank < count; ++rank) CHECK(distance(ranks.encoder(rank, 0), gradients[rank]) < 1e-4);
    CHECK(distance(result, mean_of(gradients)) < 1e-4);
    CHECK(distance(ranks.receiver(0, 0), mean_of(gradients)) < 1e-4);
  }
}

TEST_CASE("diana: the owner knows how far the result's shift is from the ranks' mean, and keeps it near") {
  const Gradients base = constant_gradients(3);
  const auto apart = [&](const Written& written, bool check) {
    Ranks ranks(*written.codec, 3, kElements);
    for (std::uint32_t step = 0; step < 600; ++step) {
      ranks.step(with_noise(base, step), step);
      if (!check || step % 50 != 0) continue;
      std::vector<float> known = ranks.receiver(0, 0);
      for (Elements i = 0; i < kElements; ++i) known[i] += ranks.owner(0)[i];
      CHECK(distance(mean_of_encoders(ranks, 3, 0), known) < 1e-4);
    }
    return distance(mean_of_encoders(ranks, 3, 0), ranks.receiver(0, 0));
  };
  CHECK(apart(from_source("diana"), true) < 0.5);
  // An owner that adds up differences as they are lets the two drift apart for ever.
  const std::string drifting = changed(source_of("diana"), "-> float { return x + h; }", "-> float { return x; }");
  CHECK(apart(from_text("diana", drifting), false) > 1);
}

TEST_CASE("ef21: the largest differences are sent, added to what was told, and once more on the receiving side") {
  const Written written = from_source("ef21", {{"ratio", 0.1}});
  const std::vector<float> x = laplace(kElements, 1);
  std::vector<float> states = gaussian(2 * kElements, 2), difference(kElements), after(2 * kElements),
                     result(kElements);
  for (Elements i = 0; i < kElements; ++i) difference[i] = x[i] - states[i];
  const Coded coded = encode(*written.codec, x, states);
  const std::vector<float> q = decode(*written.codec, coded, kElements);
  CHECK(same_bytes(q, only_at(places_of_largest(magnitudes(difference), share_of(0.1, kElements)), difference)));
  written.codec->result(q.data(), kElements, {states.data(), after.data(), kElements}, {}, result.data());
  for (Elements i = 0; i < kElements; ++i) {
    REQUIRE(coded.residual[i] == states[i] + q[i]);
    REQUIRE(coded.residual[kElements + i] == states[kElements + i]);
    REQUIRE(result[i] == coded.residual[i]);
    REQUIRE(after[i] == coded.residual[i]);
  }
}

TEST_CASE("ef21: of constant gradients the results become their mean, each rank's told its gradient") {
  for (const std::size_t count : {1, 2, 4}) {
    INFO(count << " ranks");
    const Written written = from_source("ef21", {{"ratio", 0.05}});
    Ranks ranks(*written.codec, count, kElements);
    const Gradients gradients = constant_gradients(count);
    std::vector<float> result;
    for (std::uint32_t step = 0; step < 400; ++step) result = ranks.step(gradients, step).front();
    CHECK(distance(result, mean_of(gradients)) < 1e-5);
    for (std::size_t rank = 0; rank < count; ++rank) CHECK(distance(ranks.encoder(rank, 0), gradients[rank]) < 1e-5);
  }
}

TEST_CASE("ef21: what all ranks have told is what the results have and what the owner has not sent yet") {
  const Gradients base = constant_gradients(3);
  const Written written = from_source("ef21");
  Ranks ranks(*written.codec, 3, kElements);
  for (std::uint32_t step = 0; step < 300; ++step) {
    ranks.step(with_noise(base, step), step);
    std::vector<float> known = ranks.receiver(0, 0);
    for (Elements i = 0; i < kElements; ++i) known[i] += ranks.owner(1)[i];
    REQUIRE(distance(mean_of_encoders(ranks, 3, 0), known) < 1e-4);
  }
  const std::string dropping = changed(source_of("ef21"), "unsent = scatter(place, 0, all);", "unsent = unsent;");
  const Written wrong = from_text("ef21", dropping);
  Ranks forgetful(*wrong.codec, 3, kElements);
  for (std::uint32_t step = 0; step < 300; ++step) forgetful.step(with_noise(base, step), step);
  CHECK(distance(mean_of_encoders(forgetful, 3, 0), forgetful.receiver(0, 0)) > 0.1);
}

}  // namespace casync::compll
