// SPDX-License-Identifier: Apache-2.0
//
// rht4 and drive, whose rotation makes heavy tails even, and twobit, which is tbq as another library has it.
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

double error_of(const char* name, const std::vector<float>& x, const Parameters& parameters = {}) {
  return relative_error(x, round_trip(*from_source(name, parameters).codec, x));
}

/// A gradient with few large elements: Student's t with three degrees of freedom.
std::vector<float> heavy_tailed(Elements n) {
  std::vector<float> x = gaussian(n, 1);
  const std::vector<float> a = gaussian(n, 2), b = gaussian(n, 3), c = gaussian(n, 4);
  for (Elements i = 0; i < n; ++i) x[i] /= std::sqrt((a[i] * a[i] + b[i] * b[i] + c[i] * c[i]) / 3);
  return x;
}

/// A codec that sends what the rotation of rht4 gives, or what it gives twice, in full.
Written rotation(bool twice) {
  std::string text = source_of("rht4");
  const std::string encode = text.substr(0, text.find("  float* scale"));
  const std::string once = twice ? "hadamard(even, rotated)" : "even";
  return from_text("rotation", changed(encode, "class contractive;\n  feedback;\n", "") + "  float* y = " + once +
                                   ";\n  compressed = concat(y);\n}\n"
                                   "void decode(uint8* compressed, float* gradient) {\n"
                                   "  float* y;\n  extract(compressed, y);\n  gradient = " +
                                   (twice ? "map(y, range(y.size), flipped)" : "y") + ";\n}\n");
}

/// The hash by which a place and a seed get a sign.
std::uint32_t hashed(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7feb352d;
  x = (x ^ (x >> 15)) * 0x846ca68b;
  return x ^ (x >> 16);
}

/// The Walsh-Hadamard matrix of `rotated` elements times each part of a vector. A short part is cut into powers of two,
/// the largest first.
std::vector<double> turned(const std::vector<double>& from, Elements rotated) {
  std::vector<double> to(from.size(), 0.0);
  for (Elements begin = 0, size = 0; begin < from.size(); begin += size) {
    size = std::bit_floor(std::min(rotated, from.size() - begin));
    for (Elements i = 0; i < size; ++i) {
      for (Elements j = 0; j < size; ++j)
        to[begin + i] += std::popcount(i & j) % 2 == 0 ? from[begin + j] : -from[begin + j];
      to[begin + i] /= std::sqrt(static_cast<double>(size));
    }
  }
  return to;
}

/// The number of elements that rht4 does not round to the nearest of 15 levels of their block, once turned. Those near
/// the middle of two levels may become either.
std::size_t faults_of_rht4(const std::vector<float>& x, const std::vector<float>& decoded, Elements block,
                           Elements rotated) {
  const auto even = [&](const std::vector<float>& from) {
    std::vector<double> y(from.begin(), from.end());
    for (Elements i = 0; i < y.size(); ++i) y[i] *= (hashed(static_cast<std::uint32_t>(i)) & 1) == 1 ? -1 : 1;
    return turned(y, rotated);
  };
  const std::vector<double> y = even(x), given = even(decoded);
  std::size_t faults = 0;
  for (Elements begin = 0; begin < x.size(); begin += block) {
    const Elements end = std::min(begin + block, x.size());
    double scale = 0;
    for (Elements i = begin; i < end; ++i) scale = std::max(scale, std::fabs(y[i]) / 7);
    for (Elements i = begin; i < end; ++i) {
      faults += !(std::fabs(y[i] - given[i]) <= scale * (0.5 + 1e-4));
      faults += !(std::fabs(given[i] - std::nearbyint(given[i] / scale) * scale) <= 1e-4 * scale);
    }
  }
  return faults;
}

/// Computes what drive decodes x to.
std::vector<double> by_drive(const std::vector<float>& x, const std::vector<std::uint32_t>& seeds, Elements block,
                             Elements rotated) {
  const auto sign = [&](Elements i) {
    return (hashed(seeds[i / block] ^ hashed(static_cast<std::uint32_t>(i))) & 1) == 1 ? -1.0 : 1.0;
  };
  std::vector<double> y(x.size());
  for (Elements i = 0; i < x.size(); ++i) y[i] = sign(i) * x[i];
  y = turned(y, rotated);
  for (Elements begin = 0; begin < x.size(); begin += block) {
    const Elements end = std::min(begin + block, x.size());
    double sum = 0;
    for (Elements i = begin; i < end; ++i) sum += std::fabs(y[i]);
    for (Elements i = begin; i < end; ++i) y[i] = std::copysign(sum / static_cast<double>(end - begin), y[i]);
  }
  y = turned(y, rotated);
  for (Elements i = 0; i < x.size(); ++i) y[i] *= sign(i);
  return y;
}

}  // namespace

TEST_CASE("rht4: its error is that of int4 on Gaussian data, and the same on heavy tails, where int4's is not") {
  const Elements n = 1 << 16;
  const std::vector<float> normal = gaussian(n, 1), heavy = heavy_tailed(n);
  CHECK(error_of("int4", normal, {{"block", 128}}) == Approx(0.0138).epsilon(0.04));
  CHECK(error_of("rht4", normal) == Approx(0.0138).epsilon(0.04));
  CHECK(error_of("rht4", laplace(n, 2)) == Approx(0.0138).epsilon(0.05));
  CHECK(error_of("rht4", heavy) < 0.02);
  CHECK(error_of("int4", heavy, {{"block", 128}}) > 0.04);
  CHECK(error_of("rht4", heavy) < error_of("int4", heavy, {{"block", 128}}) / 2.5);
}

TEST_CASE("rht4: elements with flipped signs, turned, become the nearest of 15 levels of their block, and turn back") {
  for (const double rotated : {16, 64, 128}) {
    for (const double block : {48, 128}) {
      const Parameters parameters = {{"rotated", rotated}, {"block", block}};
      const Written written = from_source("rht4", parameters);
      const auto faults = [&](const Written& codec, const std::vector<float>& x) {
        return faults_of_rht4(x, round_trip(*codec.codec, x), static_cast<Elements>(block),
                              static_cast<Elements>(rotated));
      };
      for (const Elements n : {1, 2, 5, 63, 64, 127, 128, 129, 300, 512}) {
        INFO("rotated " << rotated << ", block " << block << ", n " << n);
        CHECK(faults(written, gaussian(n, 3)) == 0);
        CHECK(faults(written, heavy_tailed(n)) == 0);
      }
      const Written wrong = from_text("rht4", changed(source_of("rht4"), "round(x * s)", "floor(x * s)"), parameters);
      CHECK(faults(wrong, gaussian(300, 3)) > 0);
    }
  }
}

TEST_CASE("rht4: its rotation keeps norms, and twice it is the gradient again, short blocks included") {
  for (const Elements n : {1, 2, 3, 16, 63, 64, 65, 100, 127, 1000}) {
    INFO("n " << n);
    const std::vector<float> x = laplace(n, 6);
    const std::vector<float> once = round_trip(*rotation(false).codec, x), twice = round_trip(*rotation(true).codec, x);
    CHECK(norm_squared(once) == Approx(norm_squared(x)).epsilon(1e-5));
    CHECK(relative_error(x, twice) < 1e-12);
  }
}

TEST_CASE("rht4: an element that stands alone has one magnitude all over its block, and the signs look random") {
  const Elements n = 128;
  int negative = 0;
  for (Elements at = 0; at < 64; ++at) {
    std::vector<float> x(n, 0.0f);
    x[at] = -3;
    const std::vector<float> y = round_trip(*rotation(false).codec, x);
    for (Elements i = 0; i < n; ++i) REQUIRE(std::fabs(y[i]) == (i < 64 ? 3.0f / 8 : 0));
    negative += y[0] < 0;  // the matrix has a one there: what is left are the flipped signs
  }
  CHECK(std::abs(negative - 32) <= 24);  // 64 coins, 6 standard deviations
}

TEST_CASE("rht4: without the flipped signs a constant gradient would be a single element") {
  const std::vector<float> constant(64, 1.0f);
  const std::string plain = changed(source_of("rht4"), "mixed(place) & 1", "0");
  CHECK(relative_error(constant, round_trip(*from_text("rht4", plain).codec, constant)) < 1e-12);
  CHECK(error_of("rht4", constant) > 1e-4);
}

TEST_CASE("drive: it decodes to the signs of what is turned, as the mean magnitude, turned back") {
  for (const double block : {128, 384}) {
    const Written written = from_source("drive", {{"block", block}});
    for (const Elements n : {1, 2, 5, 64, 127, 128, 129, 300, 512}) {
      for (const std::vector<float>& x : {gaussian(n, 3), heavy_tailed(n)}) {
        INFO("block " << block << ", n " << n);
        const Coded coded = encode(*written.codec, x, {}, {1, 2, 3, 0});
        const std::vector<double> wanted =
            by_drive(x, integers_in(written, coded, "seed", n), static_cast<Elements>(block), 128);
        const std::vector<float> decoded = decode(*written.codec, coded, n);
        double worst = 0, top = 0;
        for (Elements i = 0; i < n; ++i) {
          worst = larger_error(worst, std::fabs(decoded[i] - wanted[i]));
          top = std::max(top, std::fabs(wanted[i]));
        }
        CHECK(worst <= 1e-5 * top);
      }
    }
  }
}

TEST_CASE("drive: its error is 1 - 2 / pi, whatever the distribution, where onebit's is not") {
  const Elements n = 1 << 16;
  const double theory = 1 - 2 / M_PI;
  CHECK(error_of("drive", gaussian(n, 1)) == Approx(theory).epsilon(0.02));
  CHECK(error_of("drive", laplace(n, 2)) == Approx(theory).epsilon(0.03));  // few large ones turn into equal ones
  CHECK(error_of("drive", std::vector<float>(n, 1.0f)) == Approx(theory).epsilon(0.02));
  CHECK(error_of("onebit", laplace(n, 2), {{"block", 128}}) > 1.25 * theory);
  const std::vector<float> heavy = heavy_tailed(n);
  CHECK(error_of("drive", heavy) < 1.02 * theory);
  CHECK(error_of("onebit", heavy, {{"block", 128}}) > 1.25 * theory);
  std::vector<float> alone(128, 0.0f);
  alone[77] = -3;
  CHECK(error_of("drive", alone) < 1e-10);
}

TEST_CASE(
    "drive: each block and each step has signs of its own, so what one rotation suits badly the next one does not") {
  const Elements n = 1 << 12;
  const Written written = from_source("drive");
  const std::vector<float> x = gaussian(n, 1);
  const auto seeds = [&](std::uint32_t step) {
    return integers_in(written, encode(*written.codec, x, {}, {1, 2, step, 0}), "seed", n);
  };
  CHECK(seeds(1) != seeds(2));
  const std::vector<std::uint32_t> first = seeds(1);
  CHECK(std::set<std::uint32_t>(first.begin(), first.end()).size() > 16);  // of 32 out of 256
}

TEST_CASE("twobit: it decodes to the same as tbq, and keeps the same") {
  for (const double tau : {0.5, 0.01, 3.0}) {
    const Written ours = from_source("tbq", {{"tau", tau}}), theirs = from_source("twobit", {{"tau", tau}});
    for (const Elements n : {1, 3, 4, 5, 129, 1000}) {
      for (const Input& input : inputs(n)) {
        if (!input.finite) continue;
        INFO("tau " << tau << ", n " << n << ", " << input.name);
        const std::vector<float> before = gaussian(n, 9);
        const Coded a = encode(*ours.codec, input.values, before), b = encode(*theirs.codec, input.values, before);
        CHECK(decode(*ours.codec, a, n) == decode(*theirs.codec, b, n));
        CHECK(a.residual == b.residual);
        CHECK(a.payload.size() == b.payload.size());
      }
    }
  }
}

TEST_CASE("twobit: its codes are two's complement, and what is at the threshold is sent") {
  const std::vector<float> x = {0.5f, -0.5f, 0.49f, -7, 7};
  const Coded coded = encode(*from_source("twobit").codec, x);
  REQUIRE(coded.payload.size() == 18);
  CHECK(std::to_integer<int>(coded.payload[16]) == (1 | 3 << 2 | 0 << 4 | 3 << 6));
  CHECK(std::to_integer<int>(coded.payload[17]) == 1);
}

}  // namespace casync::compll
