// SPDX-License-Identifier: Apache-2.0
//
// ecqsgd, diana, ef21 and laq: the values that they keep in addition to, or instead of, a residual.
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

TEST_CASE("ecqsgd: with all that is left over kept and a part of it added it has the averaged residual of LoCo") {
  constexpr double kPart = 0.05;
  const Written written = from_source("ecqsgd", {{"alpha", kPart}, {"beta", 1}});
  std::vector<float> left(kElements, 0.0f);
  std::vector<double> averaged(kElements, 0);
  for (std::uint32_t step = 0; step < 100; ++step) {
    const std::vector<float> gradient = laplace(kElements, step);
    const Coded coded = encode(*written.codec, gradient, left, {1, 2, step, 0});
    const std::vector<float> q = decode(*written.codec, coded, kElements);
    for (Elements i = 0; i < kElements; ++i) {
      const double given = gradient[i] + averaged[i];
      averaged[i] = (1 - kPart) * averaged[i] + kPart * (given - q[i]);
      REQUIRE(kPart * coded.residual[i] == Approx(averaged[i]).margin(1e-5));
    }
    left = coded.residual;
  }
}

TEST_CASE("diana: nothing is sent of a gradient that equals its shift, which stays") {
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

TEST_CASE("diana: constant gradients become the shifts, and the results their mean") {
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

TEST_CASE("ef21: constant gradients become what each rank has told, and the results their mean") {
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

TEST_CASE("laq: a rank uploads what exceeds its last change, in levels of a block's largest, and nothing otherwise") {
  const Written written = from_source("laq", {{"lazy", 4}, {"patience", 1000}, {"block", 128}});
  std::vector<float> states(2 * kElements, 0.0f), told(kElements, 0.0f), last(kElements, 0.0f);
  int uploads = 0, left_out = 0;
  for (std::uint32_t step = 0; step < 40; ++step) {
    std::vector<float> x = laplace(kElements, 1);
    const std::vector<float> drift = gaussian(kElements, 2), noise = gaussian(kElements, 100 + step);
    for (Elements i = 0; i < kElements; ++i) x[i] += 0.05f * static_cast<float>(step) * drift[i] + 0.01f * noise[i];
    double news = 0, moved = 0;
    for (Elements i = 0; i < kElements; ++i) {
      news += std::pow(static_cast<double>(x[i] - told[i]), 2);
      moved += std::pow(static_cast<double>(x[i] - last[i]), 2);
    }
    const Coded coded = encode(*written.codec, x, states, {1, 2, step, 0});
    const std::vector<float> q = decode(*written.codec, coded, kElements);
    const bool is_sent = norm_squared(q) != 0;
    INFO("step " << step << ": " << news << " and " << moved);
    if (news > 4 * moved || step == 0) REQUIRE(is_sent);
    uploads += is_sent, left_out += !is_sent;
    CHECK(coded.payload.size() < (is_sent ? 16 + kElements / 2 + 40 : 48));
    for (Elements begin = 0; begin < kElements; begin += 128) {
      float top = 0;
      for (Elements i = begin; i < std::min<Elements>(begin + 128, kElements); ++i)
        top = std::max(top, std::fabs(x[i] - told[i]));
      for (Elements i = begin; i < std::min<Elements>(begin + 128, kElements); ++i) {
        if (is_sent) REQUIRE(std::fabs(x[i] - told[i] - q[i]) <= top / 14 * 1.0001f);
        REQUIRE(coded.residual[i] == told[i] + q[i]);
        REQUIRE(coded.residual[kElements + i] == x[i]);
      }
    }
    states = coded.residual, last = x;
    told.assign(states.begin(), states.begin() + kElements);
  }
  CHECK(uploads > 5);
  CHECK(left_out > 10);
}

TEST_CASE("laq: with a patience of one step every step uploads, and a rank draws by itself when it is longer") {
  const std::vector<float> x = laplace(kElements, 1), y = laplace(kElements, 2);
  std::vector<float> states(x);
  states.insert(states.end(), y.begin(), y.end());  // told nearly all, and changed much: nothing to tell
  states[0] += 0.1f;
  int uploads = 0;
  for (const double patience : {1.0, 10.0}) {
    const Written written = from_source("laq", {{"patience", patience}});
    uploads = 0;
    for (std::uint32_t step = 0; step < 400; ++step) {
      const Coded coded = encode(*written.codec, x, states, {1, 2, step, 0});
      uploads += norm_squared(decode(*written.codec, coded, kElements)) != 0;
    }
    INFO("patience " << patience << ": " << uploads);
    if (patience == 1) CHECK(uploads == 400);
  }
  CHECK(uploads > 20);  // a tenth of 400, within three deviations and more
  CHECK(uploads < 60);
}

TEST_CASE("laq: a gradient that is not finite is uploaded, whatever the rank has told") {
  const Written written = from_source("laq", {{"lazy", 2}, {"patience", 1000}});
  const std::vector<float> told = laplace(kElements, 1), last = laplace(kElements, 2);
  std::vector<float> states(told);
  states.insert(states.end(), last.begin(), last.end());
  for (const float value : {kInfinity, -kInfinity, std::nanf("")}) {
    INFO(value);
    std::vector<float> x = told;
    x[7] = value;
    const Coded coded = encode(*written.codec, x, states, {1, 2, 3, 0});
    CHECK_FALSE(coded.finite);
    CHECK_FALSE(std::isfinite(decode(*written.codec, coded, kElements)[7]));
  }
}

TEST_CASE("laq: results of constant gradients become their mean") {
  for (const std::size_t count : {1, 2, 4}) {
    INFO(count << " ranks");
    const Written written = from_source("laq");
    Ranks ranks(*written.codec, count, kElements);
    const Gradients gradients = constant_gradients(count);
    std::vector<float> result;
    for (std::uint32_t step = 0; step < 100; ++step) result = ranks.step(gradients, step).front();
    CHECK(distance(result, mean_of(gradients)) < 1e-5);
    CHECK(ranks.all_checked());
  }
}

TEST_CASE("laq: results and what the owner has not sent yet are all that ranks have told") {
  const Gradients base = constant_gradients(3);
  const auto apart = [&](const Written& written, bool check) {
    Ranks ranks(*written.codec, 3, kElements);
    for (std::uint32_t step = 0; step < 300; ++step) {
      ranks.step(with_noise(base, step), step);
      if (!check) continue;
      std::vector<float> known = ranks.receiver(0, 0);
      for (Elements i = 0; i < kElements; ++i) known[i] += ranks.owner(0)[i];
      REQUIRE(distance(mean_of_encoders(ranks, 3, 0), known) < 1e-4);
    }
    return distance(mean_of_encoders(ranks, 3, 0), ranks.receiver(0, 0));
  };
  const double kept = apart(from_source("laq"), true);
  const std::string dropping = changed(source_of("laq"), "return x - q * s;", "return 0 * (x - q * s);");
  CHECK(apart(from_text("laq", dropping), false) > 2 * kept);
}

TEST_CASE("ef21: results and what the owner has not sent yet are all that ranks have told") {
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
