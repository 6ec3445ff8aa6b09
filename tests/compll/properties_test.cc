// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/compll/support/inputs.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll {
namespace {

std::vector<float> scaled(std::span<const float> x, float factor) {
  std::vector<float> y(x.begin(), x.end());
  for (float& value : y) value *= factor;
  return y;
}

}  // namespace

TEST_CASE("properties: the size is the bound, and no elements are no codes") {
  for (const auto& codec : all_codecs()) {
    INFO(title(*codec));
    CHECK(codec->encoded_bound(0) == (codec->info().identity ? 0u : 16u));
    const double bits = 8.0 * static_cast<double>(codec->encoded_bound(1 << 22)) / (1 << 22);
    CHECK(bits == Approx(codec->info().bits_per_element).epsilon(0.001));
  }
  CHECK(codec_of("bf16")->encoded_bound(1000) == 16 + 2000);
  CHECK(codec_of("int8")->encoded_bound(1000) == 16 + 16 + 1000);
  CHECK(codec_of("int4")->encoded_bound(1001) == 16 + 32 + 501);
  CHECK(codec_of("onebit")->encoded_bound(4099) == 16 + 32 + 513);
}

TEST_CASE("properties: decoded elements encode to the same bytes") {
  for (Elements n : sizes()) {
    for (const Input& input : inputs(n)) {
      if (!input.finite) continue;
      for (const auto& codec : all_codecs()) {
        INFO(title(*codec) << ", " << input.name << ", n " << n);
        const Coded once = encode(*codec, input.values);
        if (!once.finite) continue;  // beyond the range of float16
        const Coded twice = encode(*codec, decode(*codec, once, n));
        CHECK((once.payload == twice.payload));
        CHECK(std::all_of(twice.residual.begin(), twice.residual.end(), [](float r) { return r == 0; }));
      }
    }
  }
}

TEST_CASE("properties: scaling by a power of two scales what is decoded") {
  const Elements n = 4099;
  for (std::vector<float> x : {gaussian(n, 1), laplace(n, 2)}) {
    for (float& value : x) value += value < 0 ? -0.25f : 0.25f;  // away from what float16 holds with fewer bits
    for (const auto& codec : all_codecs()) {
      const std::vector<float> decoded = round_trip(*codec, x);
      for (int power : {-60, -31, -8, -1, 1, 8, 60}) {
        if (codec->info().name == "fp16" && std::abs(power) > 8) continue;
        INFO(title(*codec) << ", 2^" << power);
        const float factor = std::ldexp(1.0f, power);
        CHECK(same_bytes(round_trip(*codec, scaled(x, factor)), scaled(decoded, factor)));
      }
    }
  }
}

TEST_CASE("properties: changing all signs changes the signs of what is decoded") {
  for (Elements n : sizes()) {
    const std::vector<float> x = gaussian(n, 1);  // without zeros, which onebit counts among the positive
    for (const auto& codec : all_codecs()) {
      INFO(title(*codec) << ", n " << n);
      const std::vector<float> a = round_trip(*codec, scaled(x, -1)), b = scaled(round_trip(*codec, x), -1);
      CHECK(std::equal(a.begin(), a.end(), b.begin()));
    }
  }
}

TEST_CASE("properties: not a number spoils its own block and is reported, the other blocks stay") {
  const Elements n = 70001;
  for (const auto& codec : all_codecs()) {
    const Elements block = codec->info().block;
    for (float special : {std::nanf(""), kInfinity, -kInfinity}) {
      for (Elements at : {Elements{0}, n / 2, n - 1}) {
        INFO(title(*codec) << ", " << special << " at " << at);
        std::vector<float> x = gaussian(n, 3);
        const std::vector<float> clean = round_trip(*codec, x);
        x[at] = special;
        const Coded coded = encode(*codec, x);
        CHECK_FALSE(coded.finite);
        CHECK(codec->check(coded.view(), n));
        const std::vector<float> decoded = decode(*codec, coded, n);
        Elements wrong = 0;
        for (Elements i = 0; i < n; ++i) {
          const bool spoilt = i / block == at / block;
          wrong += spoilt ? std::isfinite(decoded[i]) : decoded[i] != clean[i];
        }
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("properties: a residual that is infinite or overflows is reported too") {
  const std::vector<float> x(300, 3e38f), residual(300, 3e38f);
  for (const auto& codec : all_codecs()) {
    INFO(title(*codec));
    CHECK_FALSE(encode(*codec, x, residual).finite);
  }
  const Coded beyond = encode(*codec_of("fp16"), std::vector<float>(3, 70000.0f));
  CHECK_FALSE(beyond.finite);  // decoded elements are infinite, so the residual is of no use
}

TEST_CASE("properties: zeros stay zeros, and blocks too small to scale are left to the feedback") {
  const Elements n = 1000;
  for (const char* name : {"int8", "int4", "onebit"}) {
    INFO(name);
    const auto codec = codec_of(name);
    const std::vector<float> zeros(n, 0.0f), tiny(n, 1e-40f);
    CHECK(same_bytes(round_trip(*codec, zeros), zeros));
    const Coded coded = encode(*codec, tiny);
    const std::vector<float> decoded = decode(*codec, coded, n);
    CHECK(coded.finite);
    for (Elements i = 0; i < n; i += 99) CHECK(decoded[i] + coded.residual[i] == tiny[i]);
  }
  // The least scale is 2^-120, and one that would round to less is none.
  for (const auto& [name, most] : {std::pair("int8", 127.0f), {"int4", 7.0f}, {"int2", 1.0f}}) {
    INFO(name);
    const auto codec = codec_of(name);
    const std::vector<float> least = {most * 0x1p-120f, -most * 0x1p-120f}, less = {std::nextafter(least[0], 0.0f)};
    CHECK(same_bytes(round_trip(*codec, least), least));
    CHECK(same_bytes(round_trip(*codec, less), std::vector<float>(1, 0.0f)));
    CHECK(same_bytes(encode(*codec, less).residual, less));
  }
  // No absolute epsilon: far below what such constants are, gradients keep their relative precision.
  const std::vector<float> small = scaled(gaussian(n, 1), 1e-30f);
  CHECK(relative_error(small, round_trip(*codec_of("int8"), small)) < 1e-4);
}

}  // namespace casync::compll
